package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A line of a history without its time, which is its place.
type line string

func says(what string, process int, steps ...string) line {
	return line(fmt.Sprintf(`"process":%d,"what":"%s","steps":[%s]`, process, what, strings.Join(steps, ",")))
}

func ask(process int, steps ...string) line     { return says("invoke", process, steps...) }
func ok(process int, steps ...string) line      { return says("ok", process, steps...) }
func fail(process int, steps ...string) line    { return says("fail", process, steps...) }
func unknown(process int, steps ...string) line { return says("unknown", process, steps...) }

const cut = line(`"what":"cut"`)

func read(value int) string  { return readOf("r", value) }
func write(value int) string { return fmt.Sprintf(`{"write":{"register":"r","value":%d}}`, value) }

func readOf(register string, value int) string {
	return fmt.Sprintf(`{"read":{"register":"%s","value":%d}}`, register, value)
}

func swap(from, to int) string {
	return fmt.Sprintf(`{"swap":{"register":"r","from":%d,"to":%d}}`, from, to)
}

func swapped(from, to int, done bool) string {
	return fmt.Sprintf(`{"swap":{"register":"r","from":%d,"to":%d,"done":%t}}`, from, to, done)
}

func grown(list string, element int) string {
	return fmt.Sprintf(`{"append":{"list":"%s","element":%d}}`, list, element)
}

// list without elements is that of an invocation.
func list(list, elements string) string {
	if elements == "" {
		return fmt.Sprintf(`{"list":{"list":"%s"}}`, list)
	}
	return fmt.Sprintf(`{"list":{"list":"%s","elements":%s}}`, list, elements)
}

const asked = `{"read":{"register":"r"}}`

// alone is an operation that nothing overlaps.
func alone(process int, step string) []line { return []line{ask(process, step), ok(process, step)} }

func of(parts ...any) string {
	var all strings.Builder
	at := 0
	for _, part := range parts {
		lines, several := part.([]line)
		if !several {
			lines = []line{part.(line)}
		}
		for _, line := range lines {
			fmt.Fprintf(&all, "{\"at\":%d,%s}\n", at, line)
			at++
		}
	}
	return all.String()
}

func TestKnownAnomalies(t *testing.T) {
	for name, history := range map[string]string{
		"stale read":               of(alone(1, write(1)), alone(2, read(0))),
		"reads go back":            of(ask(1, write(1)), alone(2, read(1)), alone(3, read(0)), ok(1, write(1))),
		"never written":            of(alone(1, write(1)), alone(2, read(7))),
		"lost update":              of(ask(1, swap(0, 1)), ask(2, swap(0, 2)), ok(1, swapped(0, 1, true)), ok(2, swapped(0, 2, true))),
		"refused without a reason": of(alone(1, swapped(0, 1, false))),
		"failed and seen":          of(ask(1, write(1)), fail(1, write(1)), alone(2, read(1))),
		"acknowledged and lost":    of(alone(1, write(1)), cut, alone(2, read(0))),
		"swapped and lost":         of(alone(1, swapped(0, 1, true)), cut, alone(2, read(0))),
		"lost one start later":     of(alone(1, write(1)), cut, alone(2, read(1)), cut, alone(3, read(0))),
		"unknown, seen and gone":   of(ask(1, write(1)), unknown(1, write(1)), cut, alone(2, read(1)), alone(3, read(0))),
		"appears after the cut":    of(ask(1, write(1)), unknown(1, write(1)), cut, alone(2, read(0)), alone(3, read(1))),
		"appears after another":    of(ask(1, write(1)), unknown(1, write(1)), cut, alone(2, read(0)), cut, alone(3, read(1))),
		"never answered, the same": of(ask(1, write(1)), cut, alone(2, read(0)), cut, alone(3, read(1))),
		"happens twice":            of(ask(1, write(1)), unknown(1, write(1)), alone(2, read(1)), alone(3, write(2)), alone(4, read(2)), alone(5, read(1))),
		"a swap that could not be": of(ask(1, swap(5, 1)), unknown(1, swap(5, 1)), cut, alone(2, read(1))),
		"read skew": of(
			ask(1, grown("x", 1), grown("y", 2)), ok(1, grown("x", 1), grown("y", 2)),
			ask(2, list("x", ""), list("y", "")), ok(2, list("x", "[1]"), list("y", "[]"))),
		"write skew": of(
			ask(1, list("x", ""), grown("y", 1)), ask(2, list("y", ""), grown("x", 2)),
			ok(1, list("x", "[]"), grown("y", 1)), ok(2, list("y", "[]"), grown("x", 2))),
		"half of a transaction": of(
			ask(1, grown("x", 1), grown("y", 2)), unknown(1, grown("x", 1), grown("y", 2)), cut,
			alone(2, list("x", "[1]")), alone(2, list("y", "[]"))),
		"an append is lost": of(alone(1, grown("x", 1)), alone(1, grown("x", 2)), alone(2, list("x", "[2]"))),
	} {
		t.Run(name, func(t *testing.T) { expect(t, history, broken) })
	}
}

func TestSoundHistories(t *testing.T) {
	for name, history := range map[string]string{
		"at the same time": of(ask(1, write(1)), alone(2, read(0)), alone(3, read(1)), ok(1, write(1))),
		"one of two swaps": of(ask(1, swap(0, 1)), ask(2, swap(0, 2)), ok(1, swapped(0, 1, true)), ok(2, swapped(0, 2, false))),
		"failed, not seen": of(ask(1, write(1)), fail(1, write(1)), alone(2, read(0))),
		"kept over a cut":  of(alone(1, write(1)), cut, alone(2, read(1))),
		"unknown, there":   of(ask(1, write(1)), unknown(1, write(1)), cut, alone(2, read(1))),
		"unknown, not":     of(ask(1, write(1)), unknown(1, write(1)), cut, alone(2, read(0))),
		"unknown, late":    of(ask(1, write(1)), unknown(1, write(1)), alone(2, read(0)), alone(3, read(1))),
		"unknown, between": of(ask(1, write(1)), unknown(1, write(1)), alone(2, read(1)), cut, alone(3, read(1))),
		"of many unknown ones one": of(ask(1, write(1)), ask(2, write(2)), ask(3, swap(2, 3)), cut,
			alone(4, read(3)), cut, alone(5, read(3))),
		"unanswered reads": of(ask(1, asked), ask(2, asked), unknown(2, asked), cut, alone(3, read(0))),
		"half is on its way": of(
			ask(1, grown("x", 1), grown("y", 2)), unknown(1, grown("x", 1), grown("y", 2)), cut,
			alone(2, list("x", "[1]")), alone(2, list("y", "[2]"))),
		"a transaction reads what it wrote": of(
			ask(1, list("x", ""), grown("x", 1), list("x", "")), ok(1, list("x", "[]"), grown("x", 1), list("x", "[1]"))),
	} {
		t.Run(name, func(t *testing.T) { expect(t, history, holds) })
	}
}

func expect(t *testing.T, text string, expected int) {
	t.Helper()
	history, err := readHistory(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if code, said := check(history, time.Minute); code != expected {
		t.Errorf("%d: %s\n%s", code, said, text)
	}
}

func TestWhichObjectIsNamed(t *testing.T) {
	history, err := readHistory(strings.NewReader(of(alone(1, readOf("a", 0)), alone(1, readOf("b", 7)), ask(2, write(1)), cut)))
	if err != nil {
		t.Fatal(err)
	}
	_, said := check(history, time.Minute)
	if said != "3 objects, 3 operations, 1 of them unknown: b: not linearizable: no order explains its 1 operations" {
		t.Error(said)
	}
}

// Every set of so many writes at a time would have to be tried, for what is read in the end was not written.
func TestASearchThatTakesTooLongIsGivenUp(t *testing.T) {
	const many = 40
	var begun, ended []line
	for process := range many {
		begun = append(begun, ask(process, write(process+1)))
		ended = append(ended, ok(process, write(process+1)))
	}
	history, err := readHistory(strings.NewReader(of(begun, ended, alone(0, read(many+1)))))
	if err != nil {
		t.Fatal(err)
	}
	code, said := check(history, time.Millisecond)
	if code != gaveUp || !strings.HasSuffix(said, ": r: gave up after 1ms") {
		t.Errorf("%d: %s", code, said)
	}
}
