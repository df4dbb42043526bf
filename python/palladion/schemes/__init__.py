"""The code that the modules of the schemes share."""
