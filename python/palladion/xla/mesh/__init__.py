"""Runs plans on several devices: queries side by side, and the limbs of a query over devices.

:mod:`split` gives each device its rows and instructions, and :mod:`executor` runs them.
"""
