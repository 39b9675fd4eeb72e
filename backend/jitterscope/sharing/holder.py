"""The dependency of routes for the holder of a link: they take no other credentials, and no id.

holder: Annotated[Holder, Depends(link_holder)]
"""

from __future__ import annotations

from fastapi import Request

from jitterscope import bounds
from jitterscope.kit.declared import Access
from jitterscope.sharing import links
from jitterscope.sharing.links import Holder
from jitterscope.slots import Caller
from jitterscope.tenancy.attempts import per_minute

# A page requests the incident every 30 s, and a part of the picture where the pointer rests.
_REQUESTS_PER_MINUTE = 240


async def link_holder(request: Request) -> Holder:
    """The holder of the link whose secret is the bearer token. Raises Problem 401 or 429.

    It also takes the slot that the route declares. Requests are counted per link and not for the organization: a holder
    cannot use up the members' limit.
    """
    holder = await bounds.look_up(request, _holder)
    await bounds.enter(request, Caller(f"link {holder.link_id}", holder.organization_id))
    return holder


link_holder.access = Access("link")  # type: ignore[attr-defined]


def _holder(request: Request) -> Holder:
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    holder = links.holder_of(secret.strip() if scheme.lower() == "bearer" else "")
    per_minute(_REQUESTS_PER_MINUTE, "shared link", str(holder.link_id)).take("requests with this link")
    return holder
