"""Statistics of a model on calibration data, collected before its layers are quantised."""
