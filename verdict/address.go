package verdict

// Claim is the address that the message's From names, if it names one.
type Claim struct{ address string }

// Known reports whether From named exactly one well-formed address.
func (c Claim) Known() bool { return c.address != "" }

// Reduced is the address in lower case if it is too short and plain to carry a
// sentence, else "". Nothing is ever cut.
func (c Claim) Reduced() string { return "" }

// Hash is 8 hex digits of HMAC-SHA-256 of the address under key, so that
// repeats can be told apart; "" where no address is known.
func (c Claim) Hash(key []byte) string { return "" }

// Senders is a mailbox's list.
type Senders struct{ entries map[string]string }

// NewSenders makes a list of the owner's entries. An entry that is no plain
// ASCII address is an error.
func NewSenders(entries []string) (Senders, error) { return Senders{}, nil }
