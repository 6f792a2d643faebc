// Pando-porcupine says what Porcupine thinks of histories that pando-histories has recorded: a second opinion by somebody
// else's search.
//
// usage: pando-porcupine [-timeout DURATION] FILE...
//
// Each object is looked at alone, for a history is linearizable if and only if those of its objects are. An object is a
// register, or all lists that transactions touch together. Exit codes: 0 all hold, 1 one does not, 2 a file is no such history,
// 3 Porcupine was given up.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

const (
	holds = iota
	broken
	unreadable
	gaveUp
)

func main() {
	timeout := flag.Duration("timeout", time.Minute, "how long Porcupine may look at one object")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: pando-porcupine [-timeout DURATION] FILE...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 || *timeout <= 0 {
		flag.Usage()
		os.Exit(unreadable)
	}
	os.Exit(judge(flag.Args(), *timeout, os.Stdout, os.Stderr))
}

// judge checks files and returns the exit code: that one is broken is worse than no answer.
func judge(paths []string, timeout time.Duration, out, err io.Writer) int {
	worst := holds
	for _, path := range paths {
		code, said, why := judgeFile(path, timeout)
		if why != nil {
			fmt.Fprintf(err, "%s: %v\n", path, why)
			return unreadable
		}
		fmt.Fprintf(out, "%s: %s\n", path, said)
		if worst != broken && code != holds {
			worst = code
		}
	}
	return worst
}

func judgeFile(path string, timeout time.Duration) (int, string, error) {
	file, err := os.Open(path)
	if err != nil {
		return unreadable, "", err
	}
	defer file.Close()
	history, err := readHistory(file)
	if err != nil {
		return unreadable, "", err
	}
	code, said := check(history, timeout)
	return code, said, nil
}
