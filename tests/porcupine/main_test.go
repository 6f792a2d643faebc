package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWhatIsNoHistory(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":             "\n",
		"only cuts":           of(cut),
		"no JSON":             "r holds 1\n",
		"two events":          strings.TrimSpace(of(cut)) + of(cut),
		"no time":             `{"process":1,"what":"cut"}`,
		"nothing happens":     `{"at":1,"what":"lunch"}`,
		"another field":       `{"at":1,"what":"cut","where":1}`,
		"another step":        of(ask(1, `{"scan":{}}`)),
		"no step":             of(ask(1, `{}`)),
		"two steps in one":    of(ask(1, `{"read":{"register":"r"},"write":{"register":"r","value":1}}`)),
		"of no register":      of(ask(1, `{"read":{"value":1}}`)),
		"a write of nothing":  of(ask(1, `{"write":{"register":"r"}}`)),
		"a swap from nowhere": of(ask(1, `{"swap":{"register":"r","to":1}}`)),
		"a read of nothing":   of(ask(1, `{"read":{"register":"r"}}`), ok(1, `{"read":{"register":"r"}}`)),
		"a list of nothing":   of(ask(1, `{"list":{"list":"l"}}`), ok(1, `{"list":{"list":"l"}}`)),
		"done or not":         of(ask(1, `{"swap":{"register":"r","from":1,"to":2}}`), ok(1, `{"swap":{"register":"r","from":1,"to":2}}`)),
		"below zero":          of(ask(1, write(-1))),
		"asks twice":          of(ask(1, write(1)), ask(1, write(2))),
		"was not asked":       of(ok(1, write(1))),
		"told after a cut":    of(ask(1, write(1)), cut, ok(1, write(1))),
	} {
		if _, err := readHistory(strings.NewReader(text)); err == nil {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestAtTheSameTimeNobodyIsFirst(t *testing.T) {
	text := `{"at":5,"what":"cut"}
{"at":5,"process":1,"what":"ok","steps":[` + write(1) + `]}

{"at":5,"process":2,"what":"invoke","steps":[` + write(2) + `]}
{"at":1,"process":1,"what":"invoke","steps":[` + write(1) + `]}`
	history, err := readHistory(strings.NewReader(text))
	if err != nil || len(history) != 2 {
		t.Fatal(history, err)
	}
	first, second := history[0], history[1]
	if first.begin != 0 || first.end != 2 || !first.happened || second.begin != 1 || second.end != 3 || second.happened {
		t.Error(history)
	}
}

func TestExitCodes(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	sound, stale := file("sound", of(alone(1, read(0)))), file("stale", of(alone(1, read(1))))
	for _, one := range []struct {
		code  int
		paths []string
	}{
		{holds, []string{sound}},
		{broken, []string{stale, sound}},
		{unreadable, []string{stale, file("none", "")}},
		{unreadable, []string{filepath.Join(folder, "nowhere")}},
	} {
		var out, err strings.Builder
		if code := judge(one.paths, time.Minute, &out, &err); code != one.code || (err.Len() > 0) != (code == unreadable) {
			t.Errorf("%v: %d: %s%s", one.paths, code, &out, &err)
		}
	}
}
