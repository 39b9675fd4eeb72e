"""The nodelocal-dnsmasq lab: NodeLocal DNSCache queries kube-dns over TCP, and its dnsmasq serves few connections."""
