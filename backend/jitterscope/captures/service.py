"""Captures of the flight recorder. Other domains use these functions and nothing else that touches the database.

Every function takes a session of `db.organization_session`: rows of other organizations are invisible in it.
"""

from __future__ import annotations

from jitterscope.captures.store import MAX_SPAN_US as MAX_SPAN_US
from jitterscope.captures.store import CaptureRow as CaptureRow
from jitterscope.captures.store import NewCapture as NewCapture
from jitterscope.captures.store import contents as contents
from jitterscope.captures.store import one as one
from jitterscope.captures.store import store as store
from jitterscope.captures.store import within as within
