"""The nodelocal-dnsmasq lab: NodeLocal DNSCache asks kube-dns over TCP, and its dnsmasq serves few connections."""
