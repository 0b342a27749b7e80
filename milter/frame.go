package milter

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/emersion/go-milter"
)

// maxFrame is the largest frame taken, command octet included. A body chunk is
// at most 65,535 octets and a field at most 60,000 (Postfix, header_size_limit
// with a milter); the rest is room for a field that is over the verdict's
// limits and must be seen to be refused.
const maxFrame = 128 << 10

// defect is what is wrong with a frame.
type defect int

const (
	sound  defect = iota
	spoils        // the library would misread it: the message may not pass
	ends          // nothing can follow it: the connection ends
)

// inspect says whether the library reads a frame as the MTA means it. The
// library drops a header field with an inner NUL, shifts one that begins with
// NUL, ignores what comes with the end of a body, and takes any number of
// angle brackets off an address.
func inspect(code milter.Code, data []byte) defect {
	switch code {
	case milter.CodeHeader:
		return unless(isFieldFrame(data), spoils)
	case milter.CodeRcpt:
		return unless(isAddressFrame(data), spoils)
	case milter.CodeEOB:
		return unless(len(data) == 0, spoils)
	case milter.CodeMail:
		return unless(isAddressFrame(data), ends)
	case milter.CodeMacro:
		return unless(isMacroFrame(data), ends)
	case milter.CodeConn:
		return unless(isConnectFrame(data), ends)
	case milter.CodeOptNeg:
		return unless(len(data) >= 12, ends)
	case milter.CodeHelo, milter.CodeData, milter.CodeEOH, milter.CodeBody, milter.CodeAbort, milter.CodeQuit:
		return sound
	default:
		return ends
	}
}

func unless(ok bool, d defect) defect {
	if ok {
		return sound
	}
	return d
}

// isFieldFrame: a name that is not empty and a value, each ended by NUL.
func isFieldFrame(data []byte) bool {
	if bytes.Count(data, []byte{0}) != 2 {
		return false
	}
	return data[0] != 0 && data[len(data)-1] == 0
}

// isAddressFrame: an argument with one pair of angle brackets or none, and
// then ESMTP arguments, each ended by NUL.
func isAddressFrame(data []byte) bool {
	if len(data) == 0 || data[len(data)-1] != 0 {
		return false
	}
	arg, _, _ := strings.Cut(string(data), "\x00")
	return strings.Trim(arg, "<>") == strings.TrimSuffix(strings.TrimPrefix(arg, "<"), ">")
}

// isMacroFrame: the command that the macros are for, then names that are not
// empty and values, each ended by NUL.
func isMacroFrame(data []byte) bool {
	if len(data) == 0 {
		return false
	}
	data = data[1:]
	if len(data) == 0 {
		return true
	}
	if data[len(data)-1] != 0 {
		return false
	}
	parts := bytes.Split(data[:len(data)-1], []byte{0})
	for i := 0; i < len(parts); i += 2 {
		if len(parts[i]) == 0 {
			return false
		}
	}
	return len(parts)%2 == 0
}

// isConnectFrame: a host ended by NUL, a family and, but for the family
// "unknown", a port and an address ended by NUL.
func isConnectFrame(data []byte) bool {
	_, rest, ok := bytes.Cut(data, []byte{0})
	if !ok || len(rest) == 0 {
		return false
	}
	switch milter.ProtoFamily(rest[0]) {
	case milter.FamilyUnknown:
		return true
	case milter.FamilyUnix, milter.FamilyInet, milter.FamilyInet6:
		return len(rest) >= 4 && bytes.IndexByte(rest[3:], 0) == len(rest)-4
	default:
		return false
	}
}

// offer is what the MTA can do, from its half of the negotiation.
type offer struct {
	actions  milter.OptAction
	protocol milter.OptProtocol
}

// readOffer reads a CodeOptNeg frame that inspect found sound.
func readOffer(data []byte) offer {
	return offer{
		actions:  milter.OptAction(binary.BigEndian.Uint32(data[4:])),
		protocol: milter.OptProtocol(binary.BigEndian.Uint32(data[8:])),
	}
}

// meets reports whether everything that is asked for is offered.
func (o offer) meets(actions milter.OptAction) bool {
	return o.actions&actions == actions && o.protocol&wantProtocol == wantProtocol
}
