"""Memory: governance; whose rows there are, how they are stored, how much may go in and out."""
