// Package all registers every source with package source. A source is a file in one of these folders; a new folder is
// one line here.
package all

import (
	_ "github.com/jitterscope/jitterscope/collector/internal/source/cgroup"
	_ "github.com/jitterscope/jitterscope/collector/internal/source/dns"
	_ "github.com/jitterscope/jitterscope/collector/internal/source/goruntime"
	_ "github.com/jitterscope/jitterscope/collector/internal/source/kernel"
	_ "github.com/jitterscope/jitterscope/collector/internal/source/node"
	_ "github.com/jitterscope/jitterscope/collector/internal/source/pods"
	_ "github.com/jitterscope/jitterscope/collector/internal/source/process"
	_ "github.com/jitterscope/jitterscope/collector/internal/source/requests"
	_ "github.com/jitterscope/jitterscope/collector/internal/source/runtime"
)
