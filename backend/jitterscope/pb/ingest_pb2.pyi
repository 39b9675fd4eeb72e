from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ResourceKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESOURCE_KIND_UNSPECIFIED: _ClassVar[ResourceKind]
    RESOURCE_KIND_NODE: _ClassVar[ResourceKind]
    RESOURCE_KIND_CGROUP: _ClassVar[ResourceKind]
    RESOURCE_KIND_PROCESS: _ClassVar[ResourceKind]
    RESOURCE_KIND_DNS_SERVER: _ClassVar[ResourceKind]
    RESOURCE_KIND_DNS_PATH: _ClassVar[ResourceKind]
    RESOURCE_KIND_PROBE: _ClassVar[ResourceKind]
    RESOURCE_KIND_TCP_SERVER: _ClassVar[ResourceKind]
    RESOURCE_KIND_TCP_UPSTREAM: _ClassVar[ResourceKind]

class Encoding(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ENCODING_UNSPECIFIED: _ClassVar[Encoding]
    ENCODING_F64: _ClassVar[Encoding]
    ENCODING_I32: _ClassVar[Encoding]
    ENCODING_I16: _ClassVar[Encoding]

class QueryResult(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    QUERY_RESULT_NOERROR: _ClassVar[QueryResult]
    QUERY_RESULT_NXDOMAIN: _ClassVar[QueryResult]
    QUERY_RESULT_SERVFAIL: _ClassVar[QueryResult]
    QUERY_RESULT_REFUSED: _ClassVar[QueryResult]
    QUERY_RESULT_TIMEOUT: _ClassVar[QueryResult]
    QUERY_RESULT_OTHER: _ClassVar[QueryResult]

class SourceState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SOURCE_STATE_UNSPECIFIED: _ClassVar[SourceState]
    SOURCE_STATE_ACTIVE: _ClassVar[SourceState]
    SOURCE_STATE_DEGRADED: _ClassVar[SourceState]
    SOURCE_STATE_UNAVAILABLE: _ClassVar[SourceState]
RESOURCE_KIND_UNSPECIFIED: ResourceKind
RESOURCE_KIND_NODE: ResourceKind
RESOURCE_KIND_CGROUP: ResourceKind
RESOURCE_KIND_PROCESS: ResourceKind
RESOURCE_KIND_DNS_SERVER: ResourceKind
RESOURCE_KIND_DNS_PATH: ResourceKind
RESOURCE_KIND_PROBE: ResourceKind
RESOURCE_KIND_TCP_SERVER: ResourceKind
RESOURCE_KIND_TCP_UPSTREAM: ResourceKind
ENCODING_UNSPECIFIED: Encoding
ENCODING_F64: Encoding
ENCODING_I32: Encoding
ENCODING_I16: Encoding
QUERY_RESULT_NOERROR: QueryResult
QUERY_RESULT_NXDOMAIN: QueryResult
QUERY_RESULT_SERVFAIL: QueryResult
QUERY_RESULT_REFUSED: QueryResult
QUERY_RESULT_TIMEOUT: QueryResult
QUERY_RESULT_OTHER: QueryResult
SOURCE_STATE_UNSPECIFIED: SourceState
SOURCE_STATE_ACTIVE: SourceState
SOURCE_STATE_DEGRADED: SourceState
SOURCE_STATE_UNAVAILABLE: SourceState

class Batch(_message.Message):
    __slots__ = ("spool_id", "sequence", "sealed_at_us", "collector_version", "resources", "blocks", "distributions", "facts", "events", "queries", "triggers", "sources", "dropped_batches", "captures")
    SPOOL_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SEALED_AT_US_FIELD_NUMBER: _ClassVar[int]
    COLLECTOR_VERSION_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    DISTRIBUTIONS_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    TRIGGERS_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    DROPPED_BATCHES_FIELD_NUMBER: _ClassVar[int]
    CAPTURES_FIELD_NUMBER: _ClassVar[int]
    spool_id: bytes
    sequence: int
    sealed_at_us: int
    collector_version: str
    resources: _containers.RepeatedCompositeFieldContainer[Resource]
    blocks: _containers.RepeatedCompositeFieldContainer[SeriesBlock]
    distributions: _containers.RepeatedCompositeFieldContainer[DistributionBlock]
    facts: _containers.RepeatedCompositeFieldContainer[Fact]
    events: _containers.RepeatedCompositeFieldContainer[Event]
    queries: _containers.RepeatedCompositeFieldContainer[QueryBlock]
    triggers: _containers.RepeatedCompositeFieldContainer[Trigger]
    sources: _containers.RepeatedCompositeFieldContainer[SourceStatus]
    dropped_batches: int
    captures: _containers.RepeatedCompositeFieldContainer[Capture]
    def __init__(self, spool_id: _Optional[bytes] = ..., sequence: _Optional[int] = ..., sealed_at_us: _Optional[int] = ..., collector_version: _Optional[str] = ..., resources: _Optional[_Iterable[_Union[Resource, _Mapping]]] = ..., blocks: _Optional[_Iterable[_Union[SeriesBlock, _Mapping]]] = ..., distributions: _Optional[_Iterable[_Union[DistributionBlock, _Mapping]]] = ..., facts: _Optional[_Iterable[_Union[Fact, _Mapping]]] = ..., events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ..., queries: _Optional[_Iterable[_Union[QueryBlock, _Mapping]]] = ..., triggers: _Optional[_Iterable[_Union[Trigger, _Mapping]]] = ..., sources: _Optional[_Iterable[_Union[SourceStatus, _Mapping]]] = ..., dropped_batches: _Optional[int] = ..., captures: _Optional[_Iterable[_Union[Capture, _Mapping]]] = ...) -> None: ...

class Resource(_message.Message):
    __slots__ = ("kind", "key", "parent")
    KIND_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    kind: ResourceKind
    key: str
    parent: int
    def __init__(self, kind: _Optional[_Union[ResourceKind, str]] = ..., key: _Optional[str] = ..., parent: _Optional[int] = ...) -> None: ...

class SeriesBlock(_message.Message):
    __slots__ = ("start_us", "step_us", "tick_count", "encoding", "resource", "metric", "values")
    START_US_FIELD_NUMBER: _ClassVar[int]
    STEP_US_FIELD_NUMBER: _ClassVar[int]
    TICK_COUNT_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    METRIC_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    start_us: int
    step_us: int
    tick_count: int
    encoding: Encoding
    resource: _containers.RepeatedScalarFieldContainer[int]
    metric: _containers.RepeatedScalarFieldContainer[int]
    values: bytes
    def __init__(self, start_us: _Optional[int] = ..., step_us: _Optional[int] = ..., tick_count: _Optional[int] = ..., encoding: _Optional[_Union[Encoding, str]] = ..., resource: _Optional[_Iterable[int]] = ..., metric: _Optional[_Iterable[int]] = ..., values: _Optional[bytes] = ...) -> None: ...

class DistributionBlock(_message.Message):
    __slots__ = ("start_us", "step_us", "tick_count", "resource", "metric", "entries", "bucket", "count")
    START_US_FIELD_NUMBER: _ClassVar[int]
    STEP_US_FIELD_NUMBER: _ClassVar[int]
    TICK_COUNT_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    METRIC_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    BUCKET_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    start_us: int
    step_us: int
    tick_count: int
    resource: int
    metric: int
    entries: _containers.RepeatedScalarFieldContainer[int]
    bucket: _containers.RepeatedScalarFieldContainer[int]
    count: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, start_us: _Optional[int] = ..., step_us: _Optional[int] = ..., tick_count: _Optional[int] = ..., resource: _Optional[int] = ..., metric: _Optional[int] = ..., entries: _Optional[_Iterable[int]] = ..., bucket: _Optional[_Iterable[int]] = ..., count: _Optional[_Iterable[int]] = ...) -> None: ...

class Fact(_message.Message):
    __slots__ = ("resource", "name", "value", "observed_at_us")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_AT_US_FIELD_NUMBER: _ClassVar[int]
    resource: int
    name: str
    value: str
    observed_at_us: int
    def __init__(self, resource: _Optional[int] = ..., name: _Optional[str] = ..., value: _Optional[str] = ..., observed_at_us: _Optional[int] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("resource", "kind", "start_us", "duration_us", "attributes")
    class AttributesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    START_US_FIELD_NUMBER: _ClassVar[int]
    DURATION_US_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    resource: int
    kind: str
    start_us: int
    duration_us: int
    attributes: _containers.ScalarMap[str, str]
    def __init__(self, resource: _Optional[int] = ..., kind: _Optional[str] = ..., start_us: _Optional[int] = ..., duration_us: _Optional[int] = ..., attributes: _Optional[_Mapping[str, str]] = ...) -> None: ...

class QueryBlock(_message.Message):
    __slots__ = ("server", "complete", "start_us", "end_us", "offset_us", "latency_us", "result", "name", "client", "names", "clients", "queue_wait_us")
    SERVER_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    START_US_FIELD_NUMBER: _ClassVar[int]
    END_US_FIELD_NUMBER: _ClassVar[int]
    OFFSET_US_FIELD_NUMBER: _ClassVar[int]
    LATENCY_US_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    CLIENTS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_WAIT_US_FIELD_NUMBER: _ClassVar[int]
    server: int
    complete: bool
    start_us: int
    end_us: int
    offset_us: _containers.RepeatedScalarFieldContainer[int]
    latency_us: _containers.RepeatedScalarFieldContainer[int]
    result: _containers.RepeatedScalarFieldContainer[QueryResult]
    name: _containers.RepeatedScalarFieldContainer[int]
    client: _containers.RepeatedScalarFieldContainer[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    clients: _containers.RepeatedScalarFieldContainer[str]
    queue_wait_us: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, server: _Optional[int] = ..., complete: _Optional[bool] = ..., start_us: _Optional[int] = ..., end_us: _Optional[int] = ..., offset_us: _Optional[_Iterable[int]] = ..., latency_us: _Optional[_Iterable[int]] = ..., result: _Optional[_Iterable[_Union[QueryResult, str]]] = ..., name: _Optional[_Iterable[int]] = ..., client: _Optional[_Iterable[int]] = ..., names: _Optional[_Iterable[str]] = ..., clients: _Optional[_Iterable[str]] = ..., queue_wait_us: _Optional[_Iterable[int]] = ...) -> None: ...

class Capture(_message.Message):
    __slots__ = ("resource", "reason", "start_us", "end_us", "rate_hz", "strings", "processes", "stacks", "offset_us", "stack", "process", "cpu", "row_offset_us", "row_process", "row_user_us", "row_system_us", "row_threads", "row_state", "lost_samples", "wait_offset_us", "wait_process", "wait_thread", "wait_name", "wait_state", "wait_call", "wait_place", "wait_stack")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    START_US_FIELD_NUMBER: _ClassVar[int]
    END_US_FIELD_NUMBER: _ClassVar[int]
    RATE_HZ_FIELD_NUMBER: _ClassVar[int]
    STRINGS_FIELD_NUMBER: _ClassVar[int]
    PROCESSES_FIELD_NUMBER: _ClassVar[int]
    STACKS_FIELD_NUMBER: _ClassVar[int]
    OFFSET_US_FIELD_NUMBER: _ClassVar[int]
    STACK_FIELD_NUMBER: _ClassVar[int]
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    CPU_FIELD_NUMBER: _ClassVar[int]
    ROW_OFFSET_US_FIELD_NUMBER: _ClassVar[int]
    ROW_PROCESS_FIELD_NUMBER: _ClassVar[int]
    ROW_USER_US_FIELD_NUMBER: _ClassVar[int]
    ROW_SYSTEM_US_FIELD_NUMBER: _ClassVar[int]
    ROW_THREADS_FIELD_NUMBER: _ClassVar[int]
    ROW_STATE_FIELD_NUMBER: _ClassVar[int]
    LOST_SAMPLES_FIELD_NUMBER: _ClassVar[int]
    WAIT_OFFSET_US_FIELD_NUMBER: _ClassVar[int]
    WAIT_PROCESS_FIELD_NUMBER: _ClassVar[int]
    WAIT_THREAD_FIELD_NUMBER: _ClassVar[int]
    WAIT_NAME_FIELD_NUMBER: _ClassVar[int]
    WAIT_STATE_FIELD_NUMBER: _ClassVar[int]
    WAIT_CALL_FIELD_NUMBER: _ClassVar[int]
    WAIT_PLACE_FIELD_NUMBER: _ClassVar[int]
    WAIT_STACK_FIELD_NUMBER: _ClassVar[int]
    resource: int
    reason: str
    start_us: int
    end_us: int
    rate_hz: float
    strings: _containers.RepeatedScalarFieldContainer[str]
    processes: _containers.RepeatedCompositeFieldContainer[CapturedProcess]
    stacks: _containers.RepeatedCompositeFieldContainer[CapturedStack]
    offset_us: _containers.RepeatedScalarFieldContainer[int]
    stack: _containers.RepeatedScalarFieldContainer[int]
    process: _containers.RepeatedScalarFieldContainer[int]
    cpu: _containers.RepeatedScalarFieldContainer[int]
    row_offset_us: _containers.RepeatedScalarFieldContainer[int]
    row_process: _containers.RepeatedScalarFieldContainer[int]
    row_user_us: _containers.RepeatedScalarFieldContainer[int]
    row_system_us: _containers.RepeatedScalarFieldContainer[int]
    row_threads: _containers.RepeatedScalarFieldContainer[int]
    row_state: _containers.RepeatedScalarFieldContainer[int]
    lost_samples: int
    wait_offset_us: _containers.RepeatedScalarFieldContainer[int]
    wait_process: _containers.RepeatedScalarFieldContainer[int]
    wait_thread: _containers.RepeatedScalarFieldContainer[int]
    wait_name: _containers.RepeatedScalarFieldContainer[int]
    wait_state: _containers.RepeatedScalarFieldContainer[int]
    wait_call: _containers.RepeatedScalarFieldContainer[int]
    wait_place: _containers.RepeatedScalarFieldContainer[int]
    wait_stack: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, resource: _Optional[int] = ..., reason: _Optional[str] = ..., start_us: _Optional[int] = ..., end_us: _Optional[int] = ..., rate_hz: _Optional[float] = ..., strings: _Optional[_Iterable[str]] = ..., processes: _Optional[_Iterable[_Union[CapturedProcess, _Mapping]]] = ..., stacks: _Optional[_Iterable[_Union[CapturedStack, _Mapping]]] = ..., offset_us: _Optional[_Iterable[int]] = ..., stack: _Optional[_Iterable[int]] = ..., process: _Optional[_Iterable[int]] = ..., cpu: _Optional[_Iterable[int]] = ..., row_offset_us: _Optional[_Iterable[int]] = ..., row_process: _Optional[_Iterable[int]] = ..., row_user_us: _Optional[_Iterable[int]] = ..., row_system_us: _Optional[_Iterable[int]] = ..., row_threads: _Optional[_Iterable[int]] = ..., row_state: _Optional[_Iterable[int]] = ..., lost_samples: _Optional[int] = ..., wait_offset_us: _Optional[_Iterable[int]] = ..., wait_process: _Optional[_Iterable[int]] = ..., wait_thread: _Optional[_Iterable[int]] = ..., wait_name: _Optional[_Iterable[int]] = ..., wait_state: _Optional[_Iterable[int]] = ..., wait_call: _Optional[_Iterable[int]] = ..., wait_place: _Optional[_Iterable[int]] = ..., wait_stack: _Optional[_Iterable[int]] = ...) -> None: ...

class CapturedProcess(_message.Message):
    __slots__ = ("pid", "command", "cgroup")
    PID_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    CGROUP_FIELD_NUMBER: _ClassVar[int]
    pid: int
    command: int
    cgroup: str
    def __init__(self, pid: _Optional[int] = ..., command: _Optional[int] = ..., cgroup: _Optional[str] = ...) -> None: ...

class CapturedStack(_message.Message):
    __slots__ = ("kernel", "user")
    KERNEL_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    kernel: _containers.RepeatedScalarFieldContainer[int]
    user: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, kernel: _Optional[_Iterable[int]] = ..., user: _Optional[_Iterable[int]] = ...) -> None: ...

class Trigger(_message.Message):
    __slots__ = ("resource", "reason", "at_us")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    AT_US_FIELD_NUMBER: _ClassVar[int]
    resource: int
    reason: str
    at_us: int
    def __init__(self, resource: _Optional[int] = ..., reason: _Optional[str] = ..., at_us: _Optional[int] = ...) -> None: ...

class SourceStatus(_message.Message):
    __slots__ = ("name", "state", "detail", "needs")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    name: str
    state: SourceState
    detail: str
    needs: str
    def __init__(self, name: _Optional[str] = ..., state: _Optional[_Union[SourceState, str]] = ..., detail: _Optional[str] = ..., needs: _Optional[str] = ...) -> None: ...
