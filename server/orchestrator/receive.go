package orchestrator

// state is an agent's reply to a poll. Fields that the agent did not set are zero.
type state struct {
	reqID    string // of the poll
	isFull   bool   // if not, the content is that of the last full state, and snapshot is empty
	seq      uint32 // grows within a connection
	hash     string // of the content, by the agent; echoed in polls and never checked
	snapshot snapshot
}

// snapshot is the content of a full state as the agent sent it. Check it before use.
type snapshot struct {
	name            string
	processUID      string // one for a process: it survives reconnects
	agentVersion    string
	protocolVersion uint32
	endpointURL     string // for players
	labels          map[string]string
	capacity        capacity
	autoCreate      bool // whether the agent accepts create commands
	roomTypes       []string
	rooms           []room
	status          string
}

// capacity limits an agent; nil is unlimited, and 0 is none.
type capacity struct{ maxConnections, maxRooms *int32 }

type room struct {
	rawID       string // the id as the game wrote it
	roomType    string
	connections uint32
	isLocal     bool // the game's own code made it
}

// ack is an agent's answer to a command.
type ack struct {
	commandID   string
	succeeded   bool
	failureText string // free text, never shown to callers
	alreadyGone bool   // of a destroy that succeeded: there was no such room
	roomExists  bool   // of a create that failed: the agent has a room of this id
	createdRoom *roomRef
}

type roomRef struct{ rawID, roomType string }

// The numbers in the functions below are those of the fields of upstream's messages.

// readState reads fields in any order; of a repeated one the last counts, as in protobuf. Labels are never nil, so that
// addLabel can write.
func readState(in *fields) state {
	s := state{snapshot: snapshot{labels: map[string]string{}}}
	for in.nextField() {
		switch in.number {
		case 1:
			s.reqID = in.text()
		case 2:
			s.isFull = in.bool()
		case 3:
			s.seq = in.uint32()
		case 4:
			s.hash = in.text()
		default:
			s.snapshot.readField(in)
		}
	}
	return s
}

// readField reads a field of a full state. It keeps one element more than a list may have, so that the check still sees
// that there are too many: a frame of 4 MiB has room for two million empty rooms.
func (s *snapshot) readField(in *fields) {
	switch in.number {
	case 5:
		s.name = in.text()
	case 6:
		s.processUID = in.text()
	case 7:
		s.agentVersion = in.text()
	case 8:
		s.protocolVersion = in.uint32()
	case 9:
		s.endpointURL = in.text()
	case 10:
		s.addLabel(readNested(in, readLabel))
	case 11:
		s.capacity = readNested(in, readCapacity)
	case 12:
		s.autoCreate = in.bool()
	case 13:
		s.roomTypes = appendUpTo(maxRoomTypes+1, s.roomTypes, in.text())
	case 14:
		s.rooms = appendUpTo(maxRooms+1, s.rooms, readNested(in, readRoom))
	case 15:
		s.status = in.text()
	}
}

func appendUpTo[T any](limit int, list []T, element T) []T {
	if len(list) == limit {
		return list
	}
	return append(list, element)
}

func (s *snapshot) addLabel(l label) {
	// A known label is replaced, however many there are: of repeated ones the last counts.
	if _, has := s.labels[l.key]; has || len(s.labels) <= maxLabels {
		s.labels[l.key] = l.value
	}
}

type label struct{ key, value string }

func readLabel(in *fields) (l label) {
	for in.nextField() {
		switch in.number {
		case 1:
			l.key = in.text()
		case 2:
			l.value = in.text()
		}
	}
	return l
}

func readCapacity(in *fields) (c capacity) {
	for in.nextField() {
		switch in.number {
		case 1:
			// The limit is set also by a field with 0: an absent field means unlimited, and 0 means none.
			c.maxConnections = new(in.int32())
		case 2:
			c.maxRooms = new(in.int32())
		}
	}
	return c
}

func readRoom(in *fields) (r room) {
	for in.nextField() {
		switch in.number {
		case 1:
			r.rawID = in.text()
		case 2:
			r.roomType = in.text()
		case 3:
			r.connections = in.uint32()
		case 4:
			r.isLocal = in.text() == originLocal
		}
	}
	return r
}

func readAck(in *fields) (a ack) {
	for in.nextField() {
		switch in.number {
		case 1:
			a.commandID = in.text()
		case 2:
			a.succeeded = in.bool()
		case 3:
			a.failureText = in.text()
		case 4:
			a.alreadyGone = in.bool()
		case 5:
			a.createdRoom = new(readNested(in, readRoomRef))
		case 6:
			a.roomExists = in.bool()
		}
	}
	return a
}

func readRoomRef(in *fields) (r roomRef) {
	for in.nextField() {
		switch in.number {
		case 1:
			r.rawID = in.text()
		case 2:
			r.roomType = in.text()
		}
	}
	return r
}
