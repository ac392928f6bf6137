package pb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// The wire format that existing clients of Open Match use. A change in any line breaks them.
const messages = `
AcknowledgeBackfillRequest: backfill_id=1 string; assignment=2 Assignment
AcknowledgeBackfillResponse: backfill=1 Backfill; tickets=2 rep Ticket
AssignTicketsRequest: assignments=1 rep AssignmentGroup
AssignTicketsResponse: failures=1 rep AssignmentFailure
Assignment: connection=1 string; extensions=4 map<string,Any>; reserved 2,3
AssignmentFailure: ticket_id=1 string; cause=2 enum Cause{UNKNOWN=0,TICKET_NOT_FOUND=1}
AssignmentGroup: ticket_ids=1 rep string; assignment=2 Assignment
Backfill: id=1 string; search_fields=2 SearchFields; extensions=3 map<string,Any>; persistent_field=4 map<string,Any>; create_time=5 Timestamp; generation=6 int64
BackfillTickets: backfill_id=1 string; tickets=2 rep Ticket
CreateBackfillRequest: backfill=1 Backfill
CreateTicketRequest: ticket=1 Ticket
DefaultEvaluationCriteria: score=1 double
DeleteBackfillRequest: backfill_id=1 string
DeleteTicketRequest: ticket_id=1 string
DeleteTicketsRequest: ticket_ids=1 rep string
DoubleRangeFilter: double_arg=1 string; max=2 double; min=3 double; exclude=4 enum Exclude{NONE=0,MIN=1,MAX=2,BOTH=3}
EvaluateRequest: match=1 Match
EvaluateResponse: match_id=2 string; reserved 1
FetchMatchesRequest: config=1 FunctionConfig; profile=2 MatchProfile
FetchMatchesResponse: match=1 Match
FunctionConfig: host=1 string; port=2 int32; type=3 enum Type{GRPC=0,REST=1}
GetBackfillRequest: backfill_id=1 string
GetIndexedTicketCountRequest:
GetIndexedTicketCountResponse: count=1 int32
GetTicketRequest: ticket_id=1 string
GetTicketsRequest: ticket_ids=1 rep string
GetTicketsResponse: tickets=1 rep Ticket
Match: match_id=1 string; match_profile=2 string; match_function=3 string; tickets=4 rep Ticket; extensions=7 map<string,Any>; backfill=8 Backfill; allocate_gameserver=9 bool; reserved 5,6
MatchProfile: name=1 string; pools=3 rep Pool; extensions=5 map<string,Any>; reserved 2,4
Pool: name=1 string; double_range_filters=2 rep DoubleRangeFilter; string_equals_filters=4 rep StringEqualsFilter; tag_present_filters=5 rep TagPresentFilter; created_before=6 Timestamp; created_after=7 Timestamp; reserved 3
QueryBackfillsRequest: pool=1 Pool
QueryBackfillsResponse: backfills=1 rep Backfill
QueryTicketIdsRequest: pool=1 Pool
QueryTicketIdsResponse: ids=1 rep string
QueryTicketsRequest: pool=1 Pool; limit=2 int32
QueryTicketsResponse: tickets=1 rep Ticket
ReleaseAllTicketsRequest:
ReleaseAllTicketsResponse:
ReleaseTicketsRequest: ticket_ids=1 rep string
ReleaseTicketsResponse:
RunRequest: profile=1 MatchProfile
RunResponse: proposal=1 Match
SearchFields: double_args=1 map<string,double>; string_args=2 map<string,string>; tags=3 rep string
StringEqualsFilter: string_arg=1 string; value=2 string
TagPresentFilter: tag=1 string
Ticket: id=1 string; assignment=3 Assignment; search_fields=4 SearchFields; extensions=5 map<string,Any>; persistent_field=6 map<string,Any>; create_time=7 Timestamp; reserved 2
UpdateBackfillRequest: backfill=1 Backfill
WatchAssignmentsRequest: ticket_id=1 string
WatchAssignmentsResponse: assignment=1 Assignment
`

// The methods of the wire, and what they take and return.
const methods = `
BackendService.AssignTickets: AssignTicketsRequest -> AssignTicketsResponse
BackendService.FetchMatches: FetchMatchesRequest -> stream FetchMatchesResponse
BackendService.ReleaseAllTickets: ReleaseAllTicketsRequest -> ReleaseAllTicketsResponse
BackendService.ReleaseTickets: ReleaseTicketsRequest -> ReleaseTicketsResponse
Evaluator.Evaluate: stream EvaluateRequest -> stream EvaluateResponse
FrontendService.AcknowledgeBackfill: AcknowledgeBackfillRequest -> AcknowledgeBackfillResponse
FrontendService.CreateBackfill: CreateBackfillRequest -> Backfill
FrontendService.CreateTicket: CreateTicketRequest -> Ticket
FrontendService.DeleteBackfill: DeleteBackfillRequest -> Empty
FrontendService.DeleteTicket: DeleteTicketRequest -> Empty
FrontendService.DeleteTickets: DeleteTicketsRequest -> Empty
FrontendService.GetBackfill: GetBackfillRequest -> Backfill
FrontendService.GetBackfillTickets: GetBackfillRequest -> BackfillTickets
FrontendService.GetIndexedTicketCount: GetIndexedTicketCountRequest -> GetIndexedTicketCountResponse
FrontendService.GetTicket: GetTicketRequest -> Ticket
FrontendService.GetTickets: GetTicketsRequest -> GetTicketsResponse
FrontendService.UpdateBackfill: UpdateBackfillRequest -> Backfill
FrontendService.WatchAssignments: WatchAssignmentsRequest -> stream WatchAssignmentsResponse
MatchFunction.Run: RunRequest -> stream RunResponse
QueryService.QueryBackfills: QueryBackfillsRequest -> stream QueryBackfillsResponse
QueryService.QueryTicketIds: QueryTicketIdsRequest -> stream QueryTicketIdsResponse
QueryService.QueryTickets: QueryTicketsRequest -> stream QueryTicketsResponse
`

// A wrong name, number or type lets clients misread messages without an error: max and min of a range are the pair most
// easily swapped.
func TestMessagesAreThoseOfTheWire(t *testing.T) {
	t.Parallel()
	var got []string
	eachFile(t, func(file protoreflect.FileDescriptor) {
		for i := range file.Messages().Len() {
			got = append(got, messageLine(file.Messages().Get(i)))
		}
	})
	require.Equal(t, lines(messages), sorted(got))
}

// A method of another name, or one that streams on the other side, does not answer existing clients.
func TestMethodsAreThoseOfTheWire(t *testing.T) {
	t.Parallel()
	var got []string
	eachFile(t, func(file protoreflect.FileDescriptor) {
		for i := range file.Services().Len() {
			s := file.Services().Get(i)
			for j := range s.Methods().Len() {
				m := s.Methods().Get(j)
				got = append(got, fmt.Sprintf("%s.%s: %s%s -> %s%s", s.Name(), m.Name(),
					streamPrefix(m.IsStreamingClient()), m.Input().Name(), streamPrefix(m.IsStreamingServer()), m.Output().Name()))
			}
		}
	})
	require.Equal(t, lines(methods), sorted(got))
}

// C# clients generate from these files too; without the option their types move to another namespace.
func TestFilesAreOfOnePackage(t *testing.T) {
	t.Parallel()
	eachFile(t, func(file protoreflect.FileDescriptor) {
		require.Equal(t, protoreflect.FullName("openmatch"), file.Package(), file.Path())
		require.Equal(t, protoreflect.Proto3, file.Syntax(), file.Path())
		require.Equal(t, "OpenMatch", file.Options().(*descriptorpb.FileOptions).GetCsharpNamespace(), file.Path())
	})
}

// eachFile calls f with the descriptor of each .proto file of Open Match.
func eachFile(t *testing.T, f func(protoreflect.FileDescriptor)) {
	t.Helper()
	n := 0
	name := pb.File_openmatch_messages_proto.Package()
	protoregistry.GlobalFiles.RangeFilesByPackage(name, func(file protoreflect.FileDescriptor) bool {
		n++
		f(file)
		return true
	})
	require.Equal(t, 7, n, "all .proto files but director.proto, which is of another package")
}

// messageLine describes a message as the constant messages does.
func messageLine(m protoreflect.MessageDescriptor) string {
	var parts []string
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		parts = append(parts, fmt.Sprintf("%s=%d %s", f.Name(), f.Number(), fieldType(f)))
	}
	var reserved []string
	for i := range m.ReservedRanges().Len() {
		for n := m.ReservedRanges().Get(i)[0]; n < m.ReservedRanges().Get(i)[1]; n++ {
			reserved = append(reserved, fmt.Sprint(n))
		}
	}
	if reserved != nil {
		parts = append(parts, "reserved "+strings.Join(reserved, ","))
	}
	return strings.TrimSpace(fmt.Sprintf("%s: %s", m.Name(), strings.Join(parts, "; ")))
}

// fieldType describes the type of a field as the constant messages does.
func fieldType(f protoreflect.FieldDescriptor) string {
	switch {
	case f.HasOptionalKeyword():
		return "optional " + f.Kind().String()
	case f.IsMap():
		return fmt.Sprintf("map<%s,%s>", kind(f.MapKey()), kind(f.MapValue()))
	case f.IsList():
		return "rep " + kind(f)
	}
	return kind(f)
}

func kind(f protoreflect.FieldDescriptor) string {
	switch {
	case f.Message() != nil:
		return string(f.Message().Name())
	case f.Enum() == nil:
		return f.Kind().String()
	}
	var values []string
	for i := range f.Enum().Values().Len() {
		v := f.Enum().Values().Get(i)
		values = append(values, fmt.Sprintf("%s=%d", v.Name(), v.Number()))
	}
	return fmt.Sprintf("enum %s{%s}", f.Enum().Name(), strings.Join(values, ","))
}

func streamPrefix(isStream bool) string {
	if isStream {
		return "stream "
	}
	return ""
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}
