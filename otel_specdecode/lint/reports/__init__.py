"""Findings in the forms that people and programs read, one form a file."""
