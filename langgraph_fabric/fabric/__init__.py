"""The fabric: what becomes of a note when it is written, and what is found when it is recalled."""
