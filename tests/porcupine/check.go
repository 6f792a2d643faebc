package main

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// An action is what a step does to one value of an object.
type action struct {
	kind  kind
	value int
	text  string
}

type kind int

const (
	is kind = iota
	isNot
	set
	grow
)

// A call is all that an operation does, at once: Porcupine's input. Its output says whether it happened for sure.
type call []action

// A state is what each value of an object holds. It is never changed.
type state []string

// after is the state after a call, if the call may be answered like this.
func (s state) after(call call) (state, bool) {
	now := slices.Clone(s)
	for _, action := range call {
		held := &now[action.value]
		switch action.kind {
		case is:
			if *held != action.text {
				return nil, false
			}
		case isNot:
			if *held == action.text {
				return nil, false
			}
		case set:
			*held = action.text
		case grow:
			*held += action.text
		}
	}
	return now, true
}

// model is that of an object which begins like this. A call that nobody knows of has happened before its end or never: its
// step gives both states.
func model(begin state) porcupine.Model {
	seed := maphash.MakeSeed()
	nondeterministic := porcupine.NondeterministicModel{
		Init: func() []any { return []any{begin} },
		Step: func(before, input, output any) []any {
			now, possible := before.(state).after(input.(call))
			var all []any
			if possible {
				all = append(all, now)
			}
			if !output.(bool) {
				all = append(all, before)
			}
			return all
		},
		Equal: func(one, other any) bool { return slices.Equal(one.(state), other.(state)) },
		Hash: func(held any) uint64 {
			var hash maphash.Hash
			hash.SetSeed(seed)
			for _, text := range held.(state) {
				hash.WriteString(text)
				hash.WriteByte(0)
			}
			return hash.Sum64()
		},
	}
	return nondeterministic.ToModel()
}

// A label is the name of a register or of a list.
type label struct {
	isList bool
	text   string
}

// What a register holds at first, and a list.
func (l label) initial() string {
	if l.isList {
		return ""
	}
	return "0"
}

// An object is a register, or lists that transactions touch together, with all that was done to it.
type object struct {
	names      []label
	operations []porcupine.Operation
	unknown    int
}

func (o *object) String() string {
	texts := make([]string, len(o.names))
	for at, name := range o.names {
		texts[at] = name.text
	}
	return strings.Join(texts, ", ")
}

// A touch is an action whose value still has its name.
type touch struct {
	name label
	kind kind
	text string
}

// touches are what an operation does and what it tells of what it found: nothing if it failed, or only read and was not answered.
func touches(operation operation) []touch {
	if operation.failed {
		return nil
	}
	var all []touch
	for _, step := range operation.steps {
		add := func(isList bool, text *string, kind kind, value string) {
			all = append(all, touch{label{isList, *text}, kind, value})
		}
		switch {
		case step.Read != nil && step.Read.Value != nil:
			add(false, step.Read.Register, is, fmt.Sprint(*step.Read.Value))
		case step.Write != nil:
			add(false, step.Write.Register, set, fmt.Sprint(*step.Write.Value))
		case step.Swap != nil && step.Swap.Done != nil && !*step.Swap.Done:
			add(false, step.Swap.Register, isNot, fmt.Sprint(*step.Swap.From))
		case step.Swap != nil:
			add(false, step.Swap.Register, is, fmt.Sprint(*step.Swap.From))
			add(false, step.Swap.Register, set, fmt.Sprint(*step.Swap.To))
		case step.Append != nil:
			add(true, step.Append.List, grow, text(*step.Append.Element))
		case step.List != nil && step.List.Elements != nil:
			add(true, step.List.List, is, text(*step.List.Elements...))
		}
	}
	return all
}

// objects finds what belongs together, and what was done to each.
func objects(history []operation) []*object {
	of := map[label]*object{}
	for _, operation := range history {
		all := touches(operation)
		for _, touch := range all {
			join(of, all[0].name, touch.name)
		}
	}
	var found []*object
	for _, operation := range history {
		if all := touches(operation); len(all) > 0 {
			object := of[all[0].name]
			if len(object.operations) == 0 {
				found = append(found, object)
			}
			object.take(operation, all)
		}
	}
	return found
}

// join makes one object of those of two names.
func join(of map[label]*object, one, other label) {
	for _, name := range []label{one, other} {
		if of[name] == nil {
			of[name] = &object{names: []label{name}}
		}
	}
	if to, from := of[one], of[other]; to != from {
		to.names = append(to.names, from.names...)
		for _, name := range from.names {
			of[name] = to
		}
	}
}

func (o *object) take(operation operation, all []touch) {
	var call call
	for _, touch := range all {
		call = append(call, action{touch.kind, slices.Index(o.names, touch.name), touch.text})
	}
	if !operation.happened {
		o.unknown++
	}
	o.operations = append(o.operations, porcupine.Operation{
		ClientId: int(operation.process), Input: call, Call: operation.begin, Output: operation.happened, Return: operation.end,
	})
}

// check asks Porcupine about each object; returns the exit code and what there is to say.
func check(history []operation, timeout time.Duration) (int, string) {
	code, operations, unknown := holds, 0, 0
	var said []string
	all := objects(history)
	for _, object := range all {
		operations += len(object.operations)
		unknown += object.unknown
		begin := make(state, len(object.names))
		for at, name := range object.names {
			begin[at] = name.initial()
		}
		switch porcupine.CheckOperationsTimeout(model(begin), object.operations, timeout) {
		case porcupine.Ok:
		case porcupine.Illegal:
			code = broken
			said = append(said, fmt.Sprintf("%v: not linearizable: no order explains its %d operations", object, len(object.operations)))
		default:
			if code == holds {
				code = gaveUp
			}
			said = append(said, fmt.Sprintf("%v: gave up after %v", object, timeout))
		}
	}
	if code == holds {
		said = []string{"holds"}
	}
	return code, fmt.Sprintf("%d objects, %d operations, %d of them unknown: %s", len(all), operations, unknown, strings.Join(said, "; "))
}
