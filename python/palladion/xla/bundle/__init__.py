"""Programs as bundles: folders that run where JAX is and this package is not.

:mod:`write` makes a bundle. :mod:`run` is the program in a bundle. It stands alone, so it must not
import this package.
"""
