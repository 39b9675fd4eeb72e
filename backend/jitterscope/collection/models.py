"""Table of the switches that organizations turned off."""

from __future__ import annotations

from sqlalchemy import ARRAY, Text
from sqlalchemy.orm import Mapped, mapped_column

from jitterscope.db import Base
from jitterscope.policies import Policy


class CollectionPolicyRow(Policy, Base):
    """Ids of the switches that are off; without a row, none is."""

    __tablename__ = "collection_policies"

    sources_off: Mapped[list[str]] = mapped_column(ARRAY(Text))
