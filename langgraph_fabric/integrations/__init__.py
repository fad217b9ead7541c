"""Integrations: optional bridges to other packages, one module each."""
