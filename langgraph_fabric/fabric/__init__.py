"""Fabric: the verbs of memory, as flows over what a scope holds."""
