"""What the modules of the schemes share."""
