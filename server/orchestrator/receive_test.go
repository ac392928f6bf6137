package orchestrator

import (
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

func TestWhatABadMessageCosts(t *testing.T) {
	t.Parallel()
	outer := func(topic, payload string) []byte { return appendText(appendText(nil, 1, topic), 2, payload) }
	whole := outer(topicState, "\x03\x00")
	invalidMessage := &violation{closeCode: closeInvalid, closeReason: "invalid_message"}
	for name, c := range map[string]struct {
		message []byte
		want    error
	}{
		"cut frame": {whole[:len(whole)-1], invalidMessage},
		"cut tag":   {append(whole, 0x80), invalidMessage},
		"fixed32 in the frame": {protowire.AppendFixed32(protowire.AppendTag(whole, 9,
			protowire.Fixed32Type), 1), invalidMessage},
		"group in the frame": {protowire.AppendGroup(protowire.AppendTag(whole, 9,
			protowire.StartGroupType), 9, nil), invalidMessage},
		"number as a topic":               {appendNumber(whole, 1, 1), invalidMessage},
		"number as a payload":             {appendNumber(whole, 2, 1), invalidMessage},
		"unknown topic":                   {outer("fleet/sync", "\x03\x00"), invalidMessage},
		"empty topic":                     {outer("", "\x03\x00"), invalidMessage},
		"hello from an agent":             {outer(topicHello, "\x03\x00"), invalidMessage},
		"poll from an agent":              {outer(topicPoll, "\x03\x00"), invalidMessage},
		"cmd from an agent":               {outer(topicCmd, "\x03\x00"), invalidMessage},
		"topic of 257 units":              {outer(strings.Repeat("𝔸", 128)+"a", ""), invalidMessage},
		"empty message":                   {nil, &dropped{}},
		"message without a topic":         {appendText(nil, 2, "\x03\x00"), &dropped{}},
		"message without a payload":       {appendText(nil, 1, topicState), &dropped{topic: topicState}},
		"payload of one byte":             {outer(topicAck, "\x03"), &dropped{topic: topicAck}},
		"another major version":           {outer(topicState, "\x02\x00"), &dropped{topic: topicState}},
		"JSON, as an agent of protocol 1": {outer(topicState, `{"full":true}`), &dropped{topic: topicState}},
		"cut body":                        {outer(topicState, "\x03\x00\x0a\x05abc"), &dropped{topic: topicState}},
		"body with another wire type":     {outer(topicState, "\x03\x00\x08\x01"), &dropped{topic: topicState}},
		"room that is cut":                {outer(topicState, "\x03\x00\x72\x02\x0a\x05"), &dropped{topic: topicState}},
		"end of a group that never began": {outer(topicAck, "\x03\x00\x0c"), &dropped{topic: topicAck}},
		"field number 0":                  {outer(topicAck, "\x03\x00\x00\x01"), &dropped{topic: topicAck}},
		"groups that are nested too deep": {outer(topicAck, "\x03\x00"+strings.Repeat("\x7b", 20_000)),
			&dropped{topic: topicAck}},
		"varint of more than ten bytes": {outer(topicAck, "\x03\x00\x10"+strings.Repeat("\xff", 10)+"\x01"),
			&dropped{topic: topicAck}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := decodeFrame(websocket.MessageBinary, c.message)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "fleet/sync")
			switch got := err.(type) { //nolint:errorlint // receive documents that it wraps nothing
			case *violation:
				got.cause = ""
			case *dropped:
				require.Equal(t, len(c.message), got.byteCount)
				got.cause, got.byteCount = "", 0
			}
			require.Equal(t, c.want, err)
		})
	}
}

func TestTextMessagesCloseTheConnection(t *testing.T) {
	t.Parallel()
	_, err := decodeFrame(websocket.MessageText, nil)
	require.Equal(t, &violation{closeCode: closeText, cause: "text message"}, err)
}

func TestTheMinorVersionIsIgnored(t *testing.T) {
	t.Parallel()
	got := received(t, appendText(appendText(nil, 1, topicAck), 2, "\x03\x09\x10\x01"))
	require.Equal(t, ack{succeeded: true}, got)
}

// The numbers of U+FFFD are Node's, which upstream counts lengths by.
func TestInvalidTextIsReplacedAsNodeDoes(t *testing.T) {
	t.Parallel()
	for invalid, replacements := range map[string]int{
		"\xed\xa0\x80": 3, "\xe2\x82": 1, "\xf0\x9f\x98": 1, "\xf8\x80\x80\x80": 4, "\xc0\xaf": 2,
		"\xed\xb0\x80\xed": 4, "\xff": 1, "\xf4\x90\x80\x80": 4,
	} {
		require.Equal(t, strings.Repeat("\uFFFD", replacements), decodeText([]byte(invalid)), "%x", invalid)
		require.Equal(t, "a"+strings.Repeat("\uFFFD", replacements)+"b", decodeText([]byte("a"+invalid+"b")), "%x",
			invalid)
	}
	require.Equal(t, "\uFEFFa", decodeText([]byte("\uFEFFa")))
}

// A frame of 4 MiB has room for two million empty rooms.
func TestListsAreBoundedWhileTheyAreRead(t *testing.T) {
	t.Parallel()
	body := appendText(nil, 1, "poll_1")
	for range 1 << 16 {
		body = appendText(body, 13, "")
		body = appendText(body, 14, "")
		body = protowire.AppendBytes(protowire.AppendTag(body, 10, protowire.BytesType),
			appendText(nil, 1, string(rune('a'+len(body)%1000))))
	}
	got := received(t, frameAround(topicState, body)).(state).snapshot
	require.Len(t, got.rooms, maxRooms+1)
	require.Len(t, got.roomTypes, maxRoomTypes+1)
	require.Len(t, got.labels, maxLabels+1)
}
