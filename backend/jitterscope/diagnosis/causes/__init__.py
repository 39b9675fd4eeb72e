"""Rules, one a file: `<area>/<cause>.py` exports CAUSE, `<cause>_scenario.py` beside it makes its telemetry."""
