"""The data sets the library knows, one module each: how it is read, and its record."""
