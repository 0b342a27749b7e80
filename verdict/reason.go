package verdict

// Outcome is what becomes of a message.
type Outcome string

// The three outcomes.
const (
	Accept Outcome = "accept" // it may be shown
	Refuse Outcome = "refuse" // it may not, for a Reason of Refusals
	Defer  Outcome = "defer"  // no decision now, for a Reason of Deferrals
)

// Reason is the constant code of a refusal or a deferral. Both lists are
// closed.
type Reason string

// The reasons of a refusal, in the order of the conditions.
const (
	TooLarge        Reason = "too-large"
	MalformedHeader Reason = "malformed-header"
	FromCount       Reason = "from-count"
	DuplicateField  Reason = "duplicate-field"
	AddressCount    Reason = "address-count"
	FromSyntax      Reason = "from-syntax"
	Unlisted        Reason = "unlisted"
	Automatic       Reason = "automatic"
	Unsigned        Reason = "unsigned"
	Misaligned      Reason = "misaligned"
	LengthTag       Reason = "length-tag"
	NotAddressed    Reason = "not-addressed"
	Stale           Reason = "stale"
	BadSignature    Reason = "bad-signature"
	BadKey          Reason = "bad-key"
	Replayed        Reason = "replayed"
)

// Refusals lists the reasons of a refusal in the order of the conditions.
var Refusals = []Reason{
	TooLarge, MalformedHeader, FromCount, DuplicateField, AddressCount, FromSyntax,
	Unlisted, Automatic, Unsigned, Misaligned, LengthTag, NotAddressed, Stale,
	BadSignature, BadKey, Replayed,
}

// The reasons of a deferral.
const (
	DNS      Reason = "dns"      // a key could not be looked up
	Store    Reason = "store"    // the record could not be made durable
	Evidence Reason = "evidence" // the sealed original could not be kept
	Internal Reason = "internal" // something of ours failed
	Busy     Reason = "busy"     // over a bound on look-ups or sessions
	Pending  Reason = "pending"  // proved, but the owner has not said yes
	Shutdown Reason = "shutdown" // stile is stopping
)

// Deferrals lists the reasons of a deferral.
var Deferrals = []Reason{DNS, Store, Evidence, Internal, Busy, Pending, Shutdown}

// Flag states a fact about an accepted message. The list is closed.
type Flag string

// The flags.
const (
	Duplicate         Flag = "duplicate"          // a repeat of a message accepted before
	TestingKey        Flag = "testing-key"        // the key record has t=y
	WeakKey           Flag = "weak-key"           // RSA under 2048 bits
	Undated           Flag = "undated"            // neither t= nor a covered Date
	ToUnsigned        Flag = "to-unsigned"        // neither To nor Cc is covered
	SubjectUnsigned   Flag = "subject-unsigned"   // Subject is there and not covered
	StructureUnsigned Flag = "structure-unsigned" // Content-Type or Content-Transfer-Encoding is there and not covered
	ReplyToRemoved    Flag = "reply-to-removed"   // a field of ReplyFields was not covered
)

// Flags lists the flags in their order.
var Flags = []Flag{
	Duplicate, TestingKey, WeakKey, Undated, ToUnsigned, SubjectUnsigned,
	StructureUnsigned, ReplyToRemoved,
}

// SignerClass names, for mail that its From domain did not sign, the service
// that signed it instead. The list is closed.
type SignerClass string

// SignerClasses lists the classes.
var SignerClasses = []SignerClass{
	"onmicrosoft", "gappssmtp", "amazonses", "sendgrid", "mailgun", "mailchimp", "other", "none",
}

// ReplyFields are the fields that say where an answer goes or what to fetch.
// Anyone can add them to signed mail and agents act on them, so each instance
// that the accepting signature does not cover is deleted on acceptance.
var ReplyFields = []string{
	"Reply-To", "Mail-Reply-To", "Mail-Followup-To", "Resent-Reply-To", "Sender",
	"Errors-To", "Disposition-Notification-To", "Return-Receipt-To",
	"X-Confirm-Reading-To", "List-Unsubscribe", "List-Unsubscribe-Post", "List-Post",
}
