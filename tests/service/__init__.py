"""Tests of the service, over real connections and with real keys."""
