package nats

import (
	"encoding/json"
	"strconv"
	"time"
)

// The streams of the plugin: a bucket is a stream, with a subject for each key.
const (
	bucketSessions    = "KV_sessions_ly2eg"
	bucketConnections = "KV_active_connections"
	bucketDigests     = "KV_cert_digests"
	queueDeletions    = "DELETE_SESSION_STREAM"
)

// deletionPrefix is that of the subjects of queueDeletions.
const deletionPrefix = "edgegap_delete_session_q."

// streamSubjects are the subjects of the streams that there are. Two of the buckets are for the matchmaker: they are
// there because the plugin makes them, and always empty.
var streamSubjects = map[string]string{
	bucketSessions: "$KV.sessions_ly2eg.>", bucketConnections: "$KV.active_connections.>",
	bucketDigests: "$KV.cert_digests.>", "KV_sessions_eg2ly": "$KV.sessions_eg2ly.>",
	"KV_unclaimed_sessions": "$KV.unclaimed_sessions.>", queueDeletions: deletionPrefix + "*",
}

// streamConfig is the configuration of a stream, as JetStream answers it. Every field is in the answer, because clients
// require them.
type streamConfig struct {
	Name            string   `json:"name"`
	Subjects        []string `json:"subjects"`
	Retention       string   `json:"retention"`
	MaxConsumers    int      `json:"max_consumers"`
	MaxMsgs         int      `json:"max_msgs"`
	MaxBytes        int      `json:"max_bytes"`
	MaxAge          int64    `json:"max_age"` // ns
	MaxPerSubject   int      `json:"max_msgs_per_subject"`
	MaxMsgSize      int      `json:"max_msg_size"`
	Discard         string   `json:"discard"`
	Storage         string   `json:"storage"`
	Replicas        int      `json:"num_replicas"`
	DuplicateWindow int64    `json:"duplicate_window"` // ns
	AllowDirect     bool     `json:"allow_direct"`
	MirrorDirect    bool     `json:"mirror_direct"`
	Sealed          bool     `json:"sealed"`
	DenyDelete      bool     `json:"deny_delete"`
	DenyPurge       bool     `json:"deny_purge"`
	AllowRollup     bool     `json:"allow_rollup_hdrs"`
}

// streamState is never more than empty: nothing is stored here.
type streamState struct {
	Messages  uint64    `json:"messages"`
	Bytes     uint64    `json:"bytes"`
	FirstSeq  uint64    `json:"first_seq"`
	FirstTime time.Time `json:"first_ts"`
	LastSeq   uint64    `json:"last_seq"`
	LastTime  time.Time `json:"last_ts"`
	Consumers int       `json:"consumer_count"`
}

type streamInfo struct {
	Type    string       `json:"type"`
	Config  streamConfig `json:"config"`
	Created time.Time    `json:"created"`
	State   streamState  `json:"state"`
}

func configOf(stream string) streamConfig {
	c := streamConfig{
		Name: stream, Subjects: []string{streamSubjects[stream]}, Retention: "limits", MaxConsumers: -1, MaxMsgs: -1,
		MaxBytes: -1, MaxPerSubject: 1, MaxMsgSize: maxPayload, Discard: "new", Storage: "file", Replicas: 1,
		DuplicateWindow: int64(2 * time.Minute), AllowDirect: true, DenyDelete: true, AllowRollup: true,
	}
	// The plugin makes the queue with these values.
	if stream == queueDeletions {
		c.Retention, c.Discard, c.MaxPerSubject = "workqueue", "old", -1
		c.AllowDirect, c.DenyDelete, c.AllowRollup = false, false, false
	}
	return c
}

// infoOf describes a stream; kind is the type of the answer.
func infoOf(stream, kind string, created time.Time) message {
	return jsonMessage(streamInfo{Type: kind, Config: configOf(stream), Created: created.UTC()})
}

// accountInfo says how many streams there are, and that there may be no others.
type accountInfo struct {
	Type      string         `json:"type"`
	Streams   int            `json:"streams"`
	Consumers int            `json:"consumers"`
	Limits    map[string]int `json:"limits"`
	API       map[string]int `json:"api"`
}

func describeAccount() message {
	return jsonMessage(accountInfo{Type: "io.nats.jetstream.api.v1.account_info_response", Streams: len(streamSubjects),
		Limits: map[string]int{"max_streams": len(streamSubjects), "max_consumers": 0, "max_memory": 0,
			"max_storage": 0},
		API: map[string]int{"total": 0, "errors": 0}})
}

// apiError is an error of JetStream, with its numbers.
type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

var (
	errNoStream = apiError{404, 10059, "stream not found"}
	errNotHere  = apiError{400, 10052, "the director has the streams of bevygap's plugin, and no others"}
	errBadKey   = apiError{400, 10003, "the key is not that of a connection: it ends with .<client id>"}
	errTooMany  = apiError{400, 10077, "a game server has at most 1024 clients"}
	errRevision = apiError{400, 10071, "wrong last sequence: the director keeps no revisions of keys"}
	errBadValue = apiError{400, 10003, "the value is no SHA-256 in hex"}
)

func (e apiError) message() message { return jsonMessage(map[string]apiError{"error": e}) }

// publishAck acknowledges a write.
type publishAck struct {
	Stream string `json:"stream"`
	Seq    uint64 `json:"seq"`
}

func jsonMessage(v any) message {
	text, _ := json.Marshal(v) //nolint:errchkjson // structs of texts, numbers and times
	return message{payload: text}
}

// entryMessage is the value of a key, as a direct read of a bucket answers it.
func entryMessage(stream, subject, value string, seq uint64, at time.Time) message {
	return message{payload: []byte(value), headers: []header{
		{"Nats-Stream", stream}, {"Nats-Subject", subject}, {"Nats-Sequence", decimalText(seq)},
		{"Nats-Time-Stamp", at.UTC().Format(time.RFC3339Nano)},
	}}
}

// noEntry answers the read of a key that has no value.
func noEntry() message { return message{status: "404 Message Not Found"} }

// noResponders answers a request that nobody serves.
func noResponders() message { return message{status: "503"} }

func decimalText(n uint64) string { return strconv.FormatUint(n, 10) }
