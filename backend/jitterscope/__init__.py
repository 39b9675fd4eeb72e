"""Jitterscope: finds why containers stall for tens of milliseconds, proves it, and says what to change."""
