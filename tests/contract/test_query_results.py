"""The numbers of query results are those of the wire format."""

from __future__ import annotations

from jitterscope.diagnosis.core import query_results
from jitterscope.pb import ingest_pb2 as pb


def test_results_are_numbered_as_on_the_wire() -> None:
    for name, number in pb.QueryResult.items():
        assert getattr(query_results, name.removeprefix("QUERY_RESULT_")) == number
