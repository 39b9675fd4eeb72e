// Package livetest has tests of the collector's kernel side against real programs, real packets and the real kernel.
package livetest
