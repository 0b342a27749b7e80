package main

import "stile/verdict"

// reduced is what a guard is called that keeps an address out of a record.
const reduced = "reduced"

// results are the outcomes of one signature, and the reasons that they become.
var results = map[string]verdict.Reason{
	"badSignature": verdict.BadSignature,
	"badKey":       verdict.BadKey,
	"noAnswer":     verdict.DNS,
	"atBound":      verdict.Busy,
	"failed":       verdict.Internal,
}

// validators are the functions of verdict that say no, and the reasons for which
// a message is refused then.
var validators = map[string][]verdict.Reason{
	"plain":                   {reduced},
	"ValidAddress":            {verdict.FromSyntax},
	"dotAtom":                 {verdict.FromSyntax},
	"validDomain":             {verdict.FromSyntax, verdict.BadSignature},
	"parseFrom":               {verdict.FromSyntax},
	"simpleComment":           {verdict.FromSyntax},
	"validFieldName":          {verdict.MalformedHeader},
	"parseKey":                {verdict.BadKey},
	"publicKey.read":          {verdict.BadKey},
	"signature.checkSyntax":   {verdict.BadSignature},
	"signature.checkIdentity": {verdict.BadSignature},
	"signature.checkBounds":   {verdict.BadSignature},
	"signature.checkTimes":    {verdict.BadSignature},
	"validSelector":           {verdict.BadSignature},
	"strictTags":              {verdict.BadSignature, verdict.BadKey},
	"validTagName":            {verdict.BadSignature},
	"validTagValue":           {verdict.BadSignature},
	"parseSeconds":            {verdict.BadSignature},
	"Case.proves":             {verdict.Replayed},
}

// answers are the functions of verdict that say no and refuse nothing.
var answers = []string{"repeats", "Field.Is", "holdsCRLF"}

// rules are the functions of fence whose no keeps a text from being shown or
// believed. Its other functions that say no take apart what a sender may write
// in any way.
var rules = []string{"certainMultipart", "certainText", "certainQP", "isEntry", "Fence.Quoted"}

// exempt are guards that no test can miss, by place and condition, each with
// its reason.
var exempt = map[string]string{
	"fence/certain.go certainMultipart: boundary == \"\"":              "walk finds no parts without a boundary",
	"fence/certain.go certainQP: !known":                               "a text of an unknown charset is read as us-ascii, in which no octet over 126 is valid",
	"fence/parse.go parse: len(lines) < markers":                       "the first line is not the last",
	"stamp/key.go PublicKey: err != nil":                               "parsePrivate, which is asked first, took the same text apart",
	"stamp/key.go PublicKey: !ok":                                      "the public half of an Ed25519 key is one",
	"stamp/value.go Verdict.value: !slices.Equal(back.pairs(), pairs)": "no reader takes a value for another; it holds later ones to that",
}
