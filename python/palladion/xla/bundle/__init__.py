"""Programs as bundles: folders that run where JAX is and this package is not.

:mod:`write` makes a bundle. :mod:`run` is the program in it: it stands alone, so nothing in it may
name this package.
"""
