package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// An event is a line of a history; docs/testing.md tells what it says.
type event struct {
	At      *uint64 `json:"at"`
	Process uint32  `json:"process"`
	What    string  `json:"what"`
	Steps   []step  `json:"steps"`
}

// A holding is a register and what it holds.
type holding struct {
	Register *string `json:"register"`
	Value    *uint64 `json:"value"`
}

// A step has exactly one of these. What an invocation cannot know is nil.
type step struct {
	Read  *holding `json:"read"`
	Write *holding `json:"write"`
	Swap  *struct {
		Register *string `json:"register"`
		From     *uint64 `json:"from"`
		To       *uint64 `json:"to"`
		Done     *bool   `json:"done"`
	} `json:"swap"`
	Append *struct {
		List    *string `json:"list"`
		Element *uint64 `json:"element"`
	} `json:"append"`
	List *struct {
		List     *string   `json:"list"`
		Elements *[]uint64 `json:"elements"`
	} `json:"list"`
}

// validate says what a step lacks; one that was answered tells what it found.
func (s step) validate(answered bool) error {
	kinds, complete := 0, true
	has := func(parts ...bool) {
		kinds++
		complete = complete && !slices.Contains(parts, false)
	}
	if s.Read != nil {
		has(s.Read.Register != nil, !answered || s.Read.Value != nil)
	}
	if s.Write != nil {
		has(s.Write.Register != nil, s.Write.Value != nil)
	}
	if s.Swap != nil {
		has(s.Swap.Register != nil, s.Swap.From != nil, s.Swap.To != nil, !answered || s.Swap.Done != nil)
	}
	if s.Append != nil {
		has(s.Append.List != nil, s.Append.Element != nil)
	}
	if s.List != nil {
		has(s.List.List != nil, !answered || s.List.Elements != nil)
	}
	if kinds != 1 || !complete {
		return errors.New("a step is none of a register or a list, or lacks something")
	}
	return nil
}

// An operation is an invocation and what became of it. Places are those of events in the order of their times.
type operation struct {
	process uint32
	begin   int64
	// Place by which it certainly has happened, or never will; math.MaxInt64 if there is none.
	end      int64
	happened bool
	failed   bool
	steps    []step
}

// Of events with the same time invocations come first, so that nobody is taken to have come before another; cuts come last.
var ranks = map[string]int{"invoke": 0, "ok": 1, "fail": 1, "unknown": 1, "cut": 2}

func readHistory(from io.Reader) ([]operation, error) {
	events, err := readEvents(from)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(events, func(one, other event) int {
		if *one.At != *other.At {
			if *one.At < *other.At {
				return -1
			}
			return 1
		}
		return ranks[one.What] - ranks[other.What]
	})
	return pair(events)
}

func readEvents(from io.Reader) ([]event, error) {
	var events []event
	steps := 0
	reader := bufio.NewReader(from)
	for number := 1; ; number++ {
		line, err := reader.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			read, why := readEvent(line)
			if why != nil {
				return nil, fmt.Errorf("line %d: %w", number, why)
			}
			events = append(events, read)
			steps += len(read.Steps)
		}
		if err == io.EOF {
			break
		}
	}
	if steps == 0 {
		return nil, errors.New("nobody does anything")
	}
	return events, nil
}

func readEvent(line []byte) (event, error) {
	var read event
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&read); err != nil {
		return read, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return read, errors.New("more than an event")
	}
	if _, known := ranks[read.What]; !known || read.At == nil {
		return read, errors.New("no event, or without a time")
	}
	for _, step := range read.Steps {
		if err := step.validate(read.What == "ok"); err != nil {
			return read, err
		}
	}
	return read, nil
}

// pair makes operations of events. A cut ends what is open, and what was given up since the cut before.
func pair(events []event) ([]operation, error) {
	var operations []operation
	asked := map[uint32]int{}
	var givenUp []int
	for place, event := range events {
		if event.What == "cut" {
			for _, at := range asked {
				givenUp = append(givenUp, at)
			}
			for _, at := range givenUp {
				operations[at].end = int64(place)
			}
			clear(asked)
			givenUp = nil
			continue
		}
		at, busy := asked[event.Process]
		switch {
		case event.What == "invoke" && busy:
			return nil, fmt.Errorf("process %d asks twice without an answer between", event.Process)
		case event.What != "invoke" && !busy:
			return nil, fmt.Errorf("process %d is answered without having asked", event.Process)
		case event.What == "invoke":
			asked[event.Process] = len(operations)
			operations = append(operations, operation{
				process: event.Process, begin: int64(place), end: math.MaxInt64, steps: event.Steps,
			})
			continue
		case event.What == "unknown":
			givenUp = append(givenUp, at)
		case event.What == "ok":
			operations[at].end, operations[at].happened, operations[at].steps = int64(place), true, event.Steps
		default:
			operations[at].end, operations[at].failed = int64(place), true
		}
		delete(asked, event.Process)
	}
	return operations, nil
}

// text is a list as a state has it.
func text(elements ...uint64) string {
	var all strings.Builder
	for _, element := range elements {
		fmt.Fprintf(&all, "%d,", element)
	}
	return all.String()
}
