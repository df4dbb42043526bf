"""Plans on several devices: queries side by side, and the limbs of each over devices.

:mod:`split` gives each device its rows and instructions, :mod:`executor` runs them.
"""
