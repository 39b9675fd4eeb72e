// Package oomlog reads what the kernel logs when it kills a process for memory: which process, how large it was, whose
// limit was hit, and which process requested memory.
package oomlog

import (
	"bytes"
	"strconv"
)

// Kill is one killed process.
type Kill struct {
	PID        int
	Command    string // comm, at most 15 bytes
	Constraint string // memcg | none | cpuset | mempolicy; "" if the kernel does not say
	// Cgroup is the victim's, LimitCgroup the one whose limit was hit, by their paths in the memory hierarchy; "" if
	// the kernel does not say: it leaves out lines when many processes are killed at once.
	Cgroup, LimitCgroup              string
	AnonBytes, FileBytes, ShmemBytes int64  // resident; -1: not reported
	TriggerCommand                   string // the process that requested memory
}

// Parser assembles the lines of one kill. The kernel kills one process at a time, so they do not mix.
type Parser struct {
	next  Kill
	last  Kill
	group bool // next applies to all that follow: memory.oom.group
}

// Line takes the text of a log record and returns a kill if this completes one.
//
// Formats: mm/oom_kill.c of Linux 3.10 to 6.18.
func (p *Parser) Line(text []byte) (Kill, bool) {
	switch {
	case bytes.Contains(text, []byte(" invoked oom-killer:")):
		p.group = false
		p.next = Kill{TriggerCommand: string(text[:bytes.Index(text, []byte(" invoked oom-killer:"))])}
	case bytes.HasPrefix(text, []byte("oom-kill:constraint=")): // since 5.0
		p.summary(text[len("oom-kill:"):])
	case bytes.HasPrefix(text, []byte("Task in ")): // until 4.20
		p.taskIn(text[len("Task in "):])
	case bytes.HasPrefix(text, []byte("Tasks in ")): // since 4.19
		p.tasksIn(text[len("Tasks in "):])
	case bytes.Contains(text, []byte("Killed process ")):
		return p.killed(text)
	}
	return Kill{}, false
}

// summary parses "constraint=CONSTRAINT_MEMCG,nodemask=…,oom_memcg=/a,task_memcg=/a/b,task=name,pid=5,uid=0". Paths and
// names can contain commas, so each extends to the next key.
func (p *Parser) summary(text []byte) {
	p.next.Constraint = constraint(between(text, "constraint=", ",nodemask="))
	p.next.LimitCgroup = string(between(text, ",oom_memcg=", ",task_memcg="))
	p.next.Cgroup = string(between(text, ",task_memcg=", ",task="))
	if p.next.LimitCgroup != "" { // Linux 5.0 writes CONSTRAINT_NONE here
		p.next.Constraint = "memcg"
	}
}

// taskIn reads "/a/b killed as a result of limit of /a".
func (p *Parser) taskIn(text []byte) {
	victim, limit, ok := bytes.Cut(text, []byte(" killed as a result of limit of "))
	if ok {
		p.next.Constraint, p.next.Cgroup, p.next.LimitCgroup = "memcg", string(victim), string(limit)
	}
}

// tasksIn reads "/a are going to be killed due to memory.oom.group set", which follows the first kill of the group.
func (p *Parser) tasksIn(text []byte) {
	if group, ok := bytes.CutSuffix(text, []byte(" are going to be killed due to memory.oom.group set")); ok {
		p.group = true
		p.next = Kill{
			Constraint: p.last.Constraint, Cgroup: string(group), LimitCgroup: p.last.LimitCgroup, TriggerCommand: p.last.TriggerCommand,
		}
	}
}

// killed parses "Memory cgroup out of memory: Killed process 5 (name) total-vm:1kB, anon-rss:1kB, file-rss:0kB,
// shmem-rss:0kB, UID:0 pgtables:9kB oom_score_adj:0", of which old kernels write less. The lines before it are about
// this kill: if the kernel left them out, nothing remains from the previous kill.
func (p *Parser) killed(text []byte) (Kill, bool) {
	at := bytes.Index(text, []byte("Killed process "))
	pid, rest, ok := integer(text[at+len("Killed process "):])
	open, shut := bytes.IndexByte(rest, '('), bytes.LastIndexByte(rest, ')')
	if !ok || pid <= 0 || pid > 1<<30 || open < 0 || shut < open {
		return Kill{}, false
	}
	kill := p.next
	kill.PID, kill.Command = int(pid), string(rest[open+1:shut]) // not always the chosen one: until 5.0 a child of it
	sizes := rest[shut+1:]
	kill.AnonBytes, kill.FileBytes, kill.ShmemBytes = kib(sizes, "anon-rss:"), kib(sizes, "file-rss:"), kib(sizes, "shmem-rss:")
	if kill.Constraint == "" {
		switch before := text[:at]; {
		case bytes.HasPrefix(before, []byte("Memory cgroup out of memory")):
			kill.Constraint = "memcg"
		case bytes.HasPrefix(before, []byte("Out of memory")):
			kill.Constraint = "none"
		}
	}
	if p.last = kill; !p.group {
		p.next = Kill{}
	}
	return kill, true
}

func constraint(text []byte) string {
	switch string(text) {
	case "CONSTRAINT_MEMCG":
		return "memcg"
	case "CONSTRAINT_NONE":
		return "none"
	case "CONSTRAINT_CPUSET":
		return "cpuset"
	case "CONSTRAINT_MEMORY_POLICY":
		return "mempolicy"
	}
	return ""
}

// between returns the text between the first start and the next end; nothing if one of them is missing.
func between(text []byte, start, end string) []byte {
	at := bytes.Index(text, []byte(start))
	if at < 0 {
		return nil
	}
	text = text[at+len(start):]
	if at = bytes.Index(text, []byte(end)); at < 0 {
		return nil
	}
	return text[:at]
}

func kib(text []byte, key string) int64 {
	at := bytes.Index(text, []byte(key))
	if at < 0 {
		return -1
	}
	value, rest, ok := integer(text[at+len(key):])
	if !ok || !bytes.HasPrefix(rest, []byte("kB")) || value > 1<<50 {
		return -1
	}
	return value << 10
}

func integer(text []byte) (value int64, rest []byte, ok bool) {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	value, err := strconv.ParseInt(string(text[:end]), 10, 64)
	return value, text[end:], err == nil
}
