package hsperf

import (
	"regexp"
	"strings"
)

// Options of a JVM that govern its heap, its collector, its threads and CPUs. No other option leaves the machine.
var governing = regexp.MustCompile(`^-X(m[xsn]|ss)[0-9]+[kKmMgGtT]?$|` +
	`^-XX:[+-](Use\w*GC|UseContainerSupport|PreferContainerQuotaForCPUCount|UseDynamicNumberOfGCThreads|UseAdaptiveSizePolicy|` +
	`UseNUMA|UseLargePages|UseTransparentHugePages|UseStringDeduplication|AlwaysPreTouch|ParallelRefProcEnabled|ZGenerational|` +
	`DisableExplicitGC|ExplicitGCInvokesConcurrent|UsePerfData|PerfDisableSharedMem)$|` +
	`^-XX:(ActiveProcessorCount|ParallelGCThreads|ConcGCThreads|CICompilerCount|(Max|Min|Initial)RAMPercentage|MaxRAM|` +
	`(Max|Initial|SoftMax)HeapSize|(Max)?NewSize|NewRatio|SurvivorRatio|MaxTenuringThreshold|MaxGCPauseMillis|GCTimeRatio|` +
	`G1HeapRegionSize|G1(Max)?NewSizePercent|G1ReservePercent|InitiatingHeapOccupancyPercent|(Max)?MetaspaceSize|` +
	`MaxDirectMemorySize|ReservedCodeCacheSize|ThreadStackSize)=[0-9.]+[kKmMgGtT]?$`)

const optionsMost = 64

// Governing selects those options from a JVM's arguments, in their order: of two that conflict the later one applies.
func Governing(arguments []string) (options []string) {
	for _, argument := range arguments {
		if len(options) < optionsMost && governing.MatchString(argument) {
			options = append(options, argument)
		}
	}
	return options
}

// Arguments returns the arguments as the JVM reports them: of JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS, the command line and
// _JAVA_OPTIONS, in the order in which they apply.
func (l *Layout) Arguments(data []byte) []string {
	return append(strings.Fields(l.Text(data, "java.rt.vmFlags")), strings.Fields(l.Text(data, "java.rt.vmArgs"))...)
}

// CommandLine parses /proc/PID/{cmdline,environ} of a JVM that does not report its arguments.
func CommandLine(cmdline, environ []byte) (arguments []string) {
	variables := make(map[string][]string)
	for variable := range strings.SplitSeq(string(environ), "\x00") {
		name, value, _ := strings.Cut(variable, "=")
		if _, twice := variables[name]; !twice {
			variables[name] = strings.Fields(value)
		}
	}
	arguments = append(variables["JAVA_TOOL_OPTIONS"], variables["JDK_JAVA_OPTIONS"]...)
	words := strings.Split(string(cmdline), "\x00")
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case word == "-cp", word == "-classpath", word == "--class-path", word == "-p", word == "--module-path", word == "--add-modules":
			i++ // skip its value
		case word == "-jar", word == "-m", word == "--module", !strings.HasPrefix(word, "-"):
			i = len(words) // what follows belongs to the program
		default:
			arguments = append(arguments, word)
		}
	}
	return append(arguments, variables["_JAVA_OPTIONS"]...)
}

var release = regexp.MustCompile(`JRE \(([0-9][^)+]*)`)

// Version is the release of the JVM, "17.0.15".
func (l *Layout) Version(data []byte) string {
	if version := l.Text(data, "java.property.java.version"); version != "" {
		return version
	}
	if found := release.FindStringSubmatch(l.Text(data, "sun.rt.internalVersion")); found != nil {
		return found[1]
	}
	return ""
}

const processors = "-XX:ActiveProcessorCount="

// Processors is the number of CPUs that the options set for the JVM, "" if they do not.
func Processors(options []string) (count string) {
	for _, option := range options {
		if value, ok := strings.CutPrefix(option, processors); ok {
			count = value
		}
	}
	return count
}
