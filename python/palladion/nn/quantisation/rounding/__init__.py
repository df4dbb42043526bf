"""Rounded layers: units and grids are chosen so that little is lost on calibration data."""
