"""Data of the user's own: tables, arrays, folders, and functions that return a federation."""
