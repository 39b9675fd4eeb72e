"""Series for psql and Grafana: functions that decode payloads, the view series_samples, the function series_between."""

from __future__ import annotations

from alembic import op

from migrations.helpers import APP_ROLE

revision = "20261121_1025"
down_revision = "20261121_1020"
depends_on = None
branch_labels = None

# jitterscope/series/packed_format.py describes the layout; tests compare the two decoders.
FUNCTIONS = r"""
CREATE FUNCTION big_endian_int8(p bytea, p_at integer) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ('x' || encode(substring(p FROM p_at + 1 FOR 8), 'hex'))::bit(64)::bigint;

-- p_width (0 to 56) bits from bit p_bit on; p must be readable for 8 bytes from there.
CREATE FUNCTION packed_bits(p bytea, p_bit bigint, p_width integer) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN p_width = 0 THEN 0::bigint ELSE
    (big_endian_int8(p, (p_bit / 8)::integer) >> (64 - p_width - (p_bit % 8)::integer)) & ((1::bigint << p_width) - 1) END;

CREATE FUNCTION little_endian_float8(p bytea, p_at integer) RETURNS double precision
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $function$
DECLARE
    high integer := get_byte(p, p_at + 7);
    exponent integer := (high & 127) * 16 + (get_byte(p, p_at + 6) >> 4);
    mantissa bigint := (get_byte(p, p_at + 6) & 15)::bigint;
    magnitude double precision;
BEGIN
    FOR i IN REVERSE 5..0 LOOP
        mantissa := mantissa * 256 + get_byte(p, p_at + i);
    END LOOP;
    IF exponent = 2047 THEN
        RETURN CASE WHEN mantissa <> 0 THEN 'NaN' WHEN high >= 128 THEN '-Infinity' ELSE 'Infinity' END;
    ELSIF exponent = 0 THEN
        -- In two steps: 2^-1074 is the smallest double there is.
        magnitude := mantissa::double precision * power(2::double precision, -537) * power(2::double precision, -537);
    ELSE
        magnitude := (mantissa + (1::bigint << 52))::double precision;
        IF exponent >= 1075 THEN
            magnitude := magnitude * power(2::double precision, exponent - 1075);
        ELSE
            magnitude := magnitude * power(2::double precision, (exponent - 1075) / 2)
                                   * power(2::double precision, (exponent - 1075) - (exponent - 1075) / 2);
        END IF;
    END IF;
    RETURN CASE WHEN high >= 128 THEN -magnitude ELSE magnitude END;
END $function$;

-- Values of a series in a landing block: 1 float64, 2 int32, 3 int16, little-endian.
CREATE FUNCTION wire_ticks(p_encoding integer, p bytea, p_ticks integer) RETURNS double precision[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $function$
DECLARE
    result double precision[] := '{}';
    value bigint;
BEGIN
    FOR i IN 0..p_ticks - 1 LOOP
        IF p_encoding = 1 THEN
            result[i + 1] := little_endian_float8(p, i * 8);
        ELSIF p_encoding = 2 THEN
            value := get_byte(p, i * 4) + (get_byte(p, i * 4 + 1) << 8) + (get_byte(p, i * 4 + 2) << 16)
                     + get_byte(p, i * 4 + 3)::bigint * 16777216;
            IF value >= 2147483648 THEN value := value - 4294967296; END IF;
            result[i + 1] := CASE WHEN value = -2147483648 THEN 'NaN' ELSE value::double precision END;
        ELSE
            value := get_byte(p, i * 2) + (get_byte(p, i * 2 + 1) << 8);
            IF value >= 32768 THEN value := value - 65536; END IF;
            result[i + 1] := CASE WHEN value = -32768 THEN 'NaN' ELSE value::double precision END;
        END IF;
    END LOOP;
    RETURN result;
END $function$;

CREATE FUNCTION packed_ticks(p_payload bytea, p_ticks integer) RETURNS double precision[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $function$
DECLARE
    -- The tail makes the last value's 64-bit window readable.
    p bytea := p_payload || '\x0000000000000000'::bytea;
    flags integer := get_byte(p, 0);
    divisor double precision;
    shift integer; base_width integer; base bigint;
    running bigint := 0; at integer := 12; bitmap_at integer;
    blocks integer := (p_ticks + 63) / 64;
    widths_at integer; bases_at integer; counts_at integer; positions_at integer; codes_at integer;
    exception integer := 0; exception_width integer := 0; exceptions integer := 0;
    block_base bigint; width integer; codes bigint[]; number bigint; tick integer;
    result double precision[] := '{}';
BEGIN
    IF flags = 128 THEN
        RETURN wire_ticks(1, substring(p FROM 2), p_ticks);
    END IF;
    divisor := ('{1,10,100,1000,10000,100000,1000000,10000000,100000000,1000000000}'::double precision[])[get_byte(p, 1) + 1];
    shift := get_byte(p, 2);
    base_width := get_byte(p, 3);
    base := big_endian_int8(p, 4);
    IF flags & 1 <> 0 THEN
        running := big_endian_int8(p, at);
        at := at + 8;
    END IF;
    bitmap_at := at;
    IF flags & 2 <> 0 THEN at := at + (p_ticks + 7) / 8; END IF;
    widths_at := at;
    IF flags & 4 = 0 THEN
        bases_at := at + blocks;
        at := bases_at + (blocks * base_width + 7) / 8;
        counts_at := at;
        IF flags & 8 <> 0 THEN
            FOR b IN 0..blocks - 1 LOOP exceptions := exceptions + get_byte(p, counts_at + b); END LOOP;
            exception_width := get_byte(p, counts_at + blocks);
            positions_at := counts_at + blocks + 1;
            codes_at := positions_at + exceptions;
            at := codes_at + (exceptions * exception_width + 7) / 8;
        END IF;
    END IF;
    FOR b IN 0..blocks - 1 LOOP
        width := 0;
        block_base := base;
        codes := array_fill(0::bigint, ARRAY[64]);
        IF flags & 4 = 0 THEN
            width := get_byte(p, widths_at + b);
            block_base := base + packed_bits(p, bases_at::bigint * 8 + b * base_width, base_width);
            IF flags & 8 <> 0 THEN
                FOR e IN 1..get_byte(p, counts_at + b) LOOP
                    codes[get_byte(p, positions_at + exception) + 1] :=
                        packed_bits(p, codes_at::bigint * 8 + exception * exception_width, exception_width);
                    exception := exception + 1;
                END LOOP;
            END IF;
        END IF;
        FOR i IN 0..63 LOOP
            tick := b * 64 + i;
            EXIT WHEN tick >= p_ticks;
            number := block_base + codes[i + 1] + packed_bits(p, at::bigint * 8 + i * width, width);
            IF flags & 1 <> 0 THEN
                running := running + number;
                number := running;
            END IF;
            IF flags & 2 <> 0 AND (get_byte(p, bitmap_at + tick / 8) >> (7 - tick % 8)) & 1 = 0 THEN
                result[tick + 1] := 'NaN';
            ELSE
                result[tick + 1] := (number << shift)::double precision / divisor;
            END IF;
        END LOOP;
        at := at + width * 8;
    END LOOP;
    RETURN result;
END $function$;

CREATE FUNCTION wire_width(p_encoding integer) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE p_encoding WHEN 1 THEN 8 WHEN 2 THEN 4 ELSE 2 END;

CREATE FUNCTION epoch_us(p timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (extract(epoch FROM p) * 1000000)::bigint;
"""

# security_invoker: the policies of whoever asks hold, not those of the view's owner.
VIEW = """
CREATE VIEW series_samples WITH (security_invoker = true) AS
SELECT s.organization_id, s.series_id, s.series_id >> 12 AS resource_id, m.name AS metric, s.step_us,
       'epoch'::timestamptz + (s.start_us + (v.tick - 1) * s.step_us) * interval '1 microsecond' AS "time", v.value
  FROM series_segments s JOIN metrics m ON m.id = (s.series_id & 4095)
 CROSS JOIN LATERAL unnest(packed_ticks(s.payload, s.tick_count)) WITH ORDINALITY v (value, tick)
 WHERE v.value <> 'NaN'
UNION ALL
SELECT b.organization_id, l.series_id, l.series_id >> 12, m.name, b.step_us,
       'epoch'::timestamptz + (b.start_us + (v.tick - 1) * b.step_us) * interval '1 microsecond', v.value
  FROM series_blocks b
  JOIN series_layouts layout ON layout.id = b.layout_id
 CROSS JOIN LATERAL unnest(layout.series_ids) WITH ORDINALITY l (series_id, position)
  JOIN metrics m ON m.id = (l.series_id & 4095)
 CROSS JOIN LATERAL unnest(wire_ticks(b.encoding, substring(
       b.payload FROM ((l.position - 1) * b.tick_count * wire_width(b.encoding))::integer + 1
       FOR b.tick_count * wire_width(b.encoding)), b.tick_count)) WITH ORDINALITY v (value, tick)
 WHERE v.value <> 'NaN'
"""

# The view reads whole tables where it cannot know the series; this finds one series by its index.
BETWEEN = """
CREATE FUNCTION series_between(p_resource_id bigint, p_metric text, p_from timestamptz, p_to timestamptz,
                               p_step_us integer DEFAULT 100000)
RETURNS TABLE ("time" timestamptz, value double precision) LANGUAGE sql STABLE AS $function$
WITH wanted AS MATERIALIZED (
    SELECT p_resource_id * 4096 + m.id AS series_id, epoch_us(p_from) AS from_us, epoch_us(p_to) AS to_us
      FROM metrics m WHERE m.name = p_metric
), pieces AS (
    SELECT s.start_us, packed_ticks(s.payload, s.tick_count) AS ticks
      FROM wanted w JOIN series_segments s ON s.series_id = w.series_id
     WHERE s.start_us > epoch_us(p_from) - 3600000000 AND s.start_us < epoch_us(p_to) AND s.step_us = p_step_us
    UNION ALL
    SELECT b.start_us, wire_ticks(b.encoding, substring(
           b.payload FROM (array_position(l.series_ids, w.series_id) - 1) * b.tick_count * wire_width(b.encoding) + 1
           FOR b.tick_count * wire_width(b.encoding)), b.tick_count)
      FROM wanted w
      JOIN resources r ON r.id = p_resource_id
      JOIN series_blocks b ON b.node_id = CASE r.node_id WHEN 0 THEN r.id ELSE r.node_id END
      JOIN series_layouts l ON l.id = b.layout_id AND array_position(l.series_ids, w.series_id) IS NOT NULL
     WHERE b.start_us > epoch_us(p_from) - 3600000000 AND b.start_us < epoch_us(p_to) AND b.step_us = p_step_us
)
SELECT 'epoch'::timestamptz + at_us * interval '1 microsecond', min(v.value)
  FROM pieces CROSS JOIN LATERAL unnest(ticks) WITH ORDINALITY v (value, tick)
 CROSS JOIN LATERAL (SELECT pieces.start_us + (v.tick - 1) * p_step_us AS at_us) t
 WHERE v.value <> 'NaN' AND at_us >= epoch_us(p_from) AND at_us < epoch_us(p_to)
 GROUP BY at_us ORDER BY at_us
$function$
"""

DROPS = (
    "series_between(bigint, text, timestamptz, timestamptz, integer)", "epoch_us(timestamptz)", "wire_width(integer)",
    "packed_ticks(bytea, integer)", "wire_ticks(integer, bytea, integer)", "little_endian_float8(bytea, integer)",
    "packed_bits(bytea, bigint, integer)", "big_endian_int8(bytea, integer)",
)  # fmt: skip


def upgrade() -> None:
    op.execute(FUNCTIONS.replace(":=", r"\:=").replace("::", r"\:\:"))
    op.execute(VIEW.replace("::", r"\:\:"))
    op.execute(f"GRANT SELECT ON series_samples TO {APP_ROLE}")
    op.execute(BETWEEN.replace("::", r"\:\:"))


def downgrade() -> None:
    op.execute("DROP VIEW series_samples")
    for function in DROPS:
        op.execute(f"DROP FUNCTION {function}")
