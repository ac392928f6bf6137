package functions

const (
	// maxMessage bounds, in bytes, a message over gRPC: gRPC's clients have the same limit by default.
	maxMessage = 4 << 20
	// window is the flow-control window, in bytes, of a call and of a connection. It is fixed, because gRPC's dynamic
	// window grows to 16 MiB.
	window = 1 << 20
	// maxMatch bounds, in bytes, a match, so that the message around it stays below maxMessage, which clients accept.
	maxMatch = maxMessage - 1<<10
	// maxAnswer bounds, in bytes, the JSON answer of a match function or an evaluator.
	maxAnswer = 64 << 20
	// maxAnswerText bounds, in bytes, the text of an error in such an answer.
	maxAnswerText = 1 << 10
)
