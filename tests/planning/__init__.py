"""Tests of what is estimated before a training."""
