import { factText } from "./factText";

const text = (name: string, value: string): string => factText({ name, value });

describe("the value of a fact", () => {
  it("has its unit", () => {
    expect(text("cpu.quota_us", "50000")).toBe("50 ms per period");
    expect(text("cpu.quota_us", "-1")).toBe("no limit");
    expect(text("memory.limit_bytes", "536870912")).toBe("512 MiB");
    expect(text("go.gomaxprocs", "2")).toBe("2");
  });

  it("of a list or map is words, not JSON", () => {
    expect(text("tcp.addresses", '["0.0.0.0:8080","[::]:8080"]')).toBe("0.0.0.0:8080, [::]:8080");
    expect(text("node.dentry_limit", "{}")).toBe("none");
    expect(text("pod.labels", '{"app":"coredns","tier":"dns"}')).toBe("app coredns, tier dns");
  });

  it("stays as it is where it only looks like one, or is nested", () => {
    expect(text("node.kernel", "[custom] 6.1")).toBe("[custom] 6.1");
    expect(text("dns.zones", '[{"name":"."}]')).toBe('[{"name":"."}]');
  });
});
