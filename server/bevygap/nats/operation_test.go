package nats

import (
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func readAll(text string) (ops []operation, err error) {
	r := newOperationReader(strings.NewReader(text))
	for {
		op, err := r.read()
		if err != nil {
			return ops, err
		}
		ops = append(ops, op)
	}
}

func TestOperations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]operation{
		"PING\r\n": {verb: opPing}, "ping\n": {verb: opPing}, "PONG\r\n": {verb: opPong},
		"CONNECT {\"user\":\"a b\"}\r\n": {verb: opConnect, payload: []byte(`{"user":"a b"}`)},
		"SUB _INBOX.a.* 0\r\n":           {verb: opSub, subject: "_INBOX.a.*", sid: "0"},
		"SUB a group 7\r\n":              {verb: opSub, subject: "a", sid: "7"},
		"UNSUB 7\r\n":                    {verb: opUnsub, sid: "7"},
		"UNSUB 7 2\r\n":                  {verb: opUnsub, sid: "7", atMost: 2},
		"PUB a 2\r\nhi\r\n": {verb: opPub, subject: "a", headers: []byte{},
			payload: []byte("hi")},
		"PUB a b.c 0\r\n\r\n": {verb: opPub, subject: "a", replySubject: "b.c", headers: []byte{},
			payload: []byte{}},
		"PUB a 4\r\n\r\n\r\n\r\n": {verb: opPub, subject: "a", headers: []byte{},
			payload: []byte("\r\n\r\n")},
		"HPUB a b 12 14\r\nNATS/1.0\r\n\r\nhi\r\n": {verb: opHPub, subject: "a", replySubject: "b",
			headers: []byte("NATS/1.0\r\n\r\n"), payload: []byte("hi")},
	} {
		got, err := readAll(text)
		require.Equal(t, io.EOF, err, "%q", text)
		require.Len(t, got, 1, "%q", text)
		want.headers, got[0].headers = append([]byte{}, want.headers...), append([]byte{}, got[0].headers...)
		want.payload, got[0].payload = append([]byte{}, want.payload...), append([]byte{}, got[0].payload...)
		require.Equal(t, want, got[0], "%q", text)
	}
}

func TestBadOperations(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxLine)
	for text, want := range map[string]error{
		"\r\n": errOperation, "GET / HTTP/1.1\r\n": errOperation, "INFO {}\r\n": errOperation, long: errLine,
		"PUB " + long + " 1\r\n": errLine,
		"SUB a\r\n":              errParser, "SUB a b c d\r\n": errParser, "SUB a..b 1\r\n": errParser,
		"SUB .a 1\r\n":   errParser,
		"SUB a. 1\r\n":   errParser,
		"SUB \x00 1\r\n": errParser, "SUB " + strings.Repeat("a", maxSubject+1) + " 1\r\n": errParser,
		"UNSUB\r\n": errParser, "UNSUB 1 2 3\r\n": errParser,
		"UNSUB 1 -2\r\n": errParser, "PUB a\r\n": errParser, "PUB a b c 1\r\n": errParser, "PUB a -1\r\n": errParser,
		"PUB a +1\r\n":  errParser,
		"PUB a 0x1\r\n": errParser, "PUB a 99999999999999999999\r\n": errParser,
		"PUB a " + strconv.Itoa(maxPayload+1) + "\r\n": errPayload,
		"PUB a 1\r\nab\r\n":                            errParser, "PUB a 1\r\na\n\n": errParser,
		"HPUB a 3 2\r\n": errParser,
		"HPUB a 1\r\n":   errParser,
		"PUB a 5\r\nhi":  io.EOF, "PING": io.EOF,
	} {
		ops, err := readAll(text)
		require.Equal(t, want, err, "%.40q", text)
		require.Empty(t, ops, "%.40q", text)
	}
}

// Where a packet ends must not matter.
func TestOperationsByteByByte(t *testing.T) {
	t.Parallel()
	r := newOperationReader(iotest.OneByteReader(strings.NewReader("HPUB a b 12 14\r\nNATS/1.0\r\n\r\nhi\r\nPING\r\n")))
	op, err := r.read()
	require.NoError(t, err)
	require.Equal(t, "hi", string(op.payload))
	op, err = r.read()
	require.NoError(t, err)
	require.Equal(t, opPing, op.verb)
}

func TestHeadersOfOperations(t *testing.T) {
	t.Parallel()
	op := operation{headers: []byte("NATS/1.0\r\nKV-Operation: PURGE\r\nkv-operation:DEL\r\nX: a: b\r\n\r\n")}
	require.Equal(t, "DEL", op.headerValue("KV-Operation"))
	require.Equal(t, "a: b", op.headerValue("X"))
	require.Empty(t, op.headerValue("NATS/1.0"))
	require.Empty(t, operation{}.headerValue("X"))
}

func TestMessages(t *testing.T) {
	t.Parallel()
	require.Equal(t, "MSG a 1 2\r\nhi\r\n", string(message{payload: []byte("hi")}.encodeFor("a", "1")))
	require.Equal(t, "HMSG a 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n", string(noResponders().encodeFor("a", "1")))
	require.Equal(t, "HMSG a 1 18 20\r\nNATS/1.0\r\nX: y\r\n\r\nhi\r\n",
		string(message{headers: []header{{"X", "y"}}, payload: []byte("hi")}.encodeFor("a", "1")))
	require.Equal(t, "-ERR 'Parser Error'\r\n", string(errorLine(errParser.Error())))
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	for pattern, subjects := range map[string]map[string]bool{
		"a.b": {"a.b": true, "a": false, "a.b.c": false}, "a.*": {"a.b": true, "a": false, "a.b.c": false},
		"a.>": {"a.b": true, "a.b.c": true, "a": false},
		">":   {"a": true, "a.b": true}, "*": {"a": true, "a.b": false}, "a.>.b": {"a.x.b": false, "a.>.b": true},
	} {
		for subject, want := range subjects {
			require.Equal(t, want, matchesPattern(pattern, subject), "%s %s", pattern, subject)
		}
	}
	s := subscriptions{}
	require.True(t, s.addPattern("1", "a.*"))
	require.True(t, s.addPattern("2", "a.b"))
	require.Equal(t, []string{"1", "2"}, s.takeReceivers("a.b"))
	s.endAfter("1", 2)
	require.Equal(t, []string{"1", "2"}, s.takeReceivers("a.b"))
	require.Equal(t, []string{"2"}, s.takeReceivers("a.b"), "the first got its two messages")
	s.endAfter("2", 1)
	require.Empty(t, s.takeReceivers("a.b"), "it has had more already")
	s.endAfter("unknown", 1)
	s.endNow("unknown")
	require.True(t, s.addPattern("3", "a.b"))
	s.endNow("3")
	require.Empty(t, s.takeReceivers("a.b"), "it ended at once")
	for i := range maxSubscriptions {
		require.True(t, s.addPattern(strconv.Itoa(i), "a"))
	}
	require.False(t, s.addPattern("one more", "a"))
	require.True(t, s.addPattern("0", "b"), "a sid may be used again")
}

func TestKeysOfConnections(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]uint64{
		"7": 7, "eu.0f9e.7": 7, "unknown.9223372036854775807": 1<<63 - 1, "eu.": 0, "": 0, "eu.x": 0, "eu.07": 0,
		"eu.0": 0, "eu.-7": 0, "9223372036854775808": 0,
	} {
		client, ok := clientOfKey(key)
		require.Equal(t, want != 0, ok, key)
		if ok {
			require.Equal(t, want, client, key)
		}
	}
}

func FuzzOperations(f *testing.F) {
	for _, text := range []string{"PING\r\n", "SUB _INBOX.a.* 0\r\nPUB a 2\r\nhi\r\n",
		"HPUB a b 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", "UNSUB 1 2\r\n", "CONNECT {}\r\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ops, err := readAll(text)
		require.Error(t, err)
		for _, op := range ops {
			require.LessOrEqual(t, len(op.payload)+len(op.headers), max(maxPayload, maxLine))
			if op.verb == opPub || op.verb == opHPub || op.verb == opSub {
				require.True(t, isSubject(op.subject), "%q", op.subject)
			}
			_ = op.headerValue("KV-Operation")
			matchesPattern(op.subject, "a.b.c")
			clientOfKey(op.subject)
			if op.verb == opPub && op.replySubject == "" { // what was read is what was sent
				again, _ := readAll("PUB " + op.subject + " " + strconv.Itoa(len(op.payload)) + "\r\n" +
					string(op.payload) + "\r\n")
				require.Equal(t, op.payload, again[0].payload)
			}
		}
	})
}
