"""Runs that several scenarios of the area share."""

from __future__ import annotations

from jitterscope.diagnosis.scenarios.net.simulate import Server

# 80 connections within 2 ms every 4 s, each of which takes 300 µs to accept.
BURSTS = tuple((3.05 + 4 * n, 80) for n in range(14))
OVERFLOW = Server(bursts=BURSTS, backlog=16, accept_us=300.0)
LOSSY = Server(each=False, loss=0.01)
FAR = Server(trip_us=35_000.0)
