package main

// quarantineRows cut what makes a record durable before its sender hears of it.
var quarantineRows = []row{
	{code: "durable-record", file: "quarantine/writer.go", piece: `_, err = w.conn.ExecContext(ctx, "COMMIT")`, with: `_, _ = w.conn.ExecContext(ctx, "ROLLBACK")`, test: "quarantine TestAdd"},
	{code: "durable-database", file: "quarantine/open.go", piece: `"synchronous(FULL)"`, with: `"synchronous(OFF)"`, test: "quarantine TestSynchronous"},
	{code: "durable-original", file: "quarantine/seal.go", piece: `e.sync(f)`, with: "nil", test: "quarantine TestSealIsDurable"},
	{code: "durable-original-name", file: "quarantine/seal.go", piece: `e.sync(e.dir)`, with: "nil", test: "quarantine TestSealIsDurable"},
	{code: "recover", file: "quarantine/writer.go", piece: `recover() != nil`, with: "false", test: "quarantine TestFailsAlone"},
	{code: "one-fails-alone", file: "quarantine/writer.go", piece: `ours && len(batch) > 1`, with: "false", test: "quarantine TestFailsAlone"},
	{code: "rolled-back", file: "quarantine/writer.go", piece: `_, _ = w.conn.ExecContext(ctx, "ROLLBACK")`, with: `_, _ = w.conn.ExecContext(ctx, "COMMIT")`, test: "quarantine TestFailsAlone"},
	{code: "reduced", file: "quarantine/record.go", piece: `hyphens <= 1`, with: "true", test: "quarantine TestReduced"},
	{code: "reserve", file: "quarantine/ledger.go", piece: `after <= l.max-2*(l.max/reserveParts)`, with: "true", test: "quarantine TestStrangersLeaveTheReserves"},
}

// milterRows cut what keeps a message with its sender until all is settled.
var milterRows = []row{
	{code: "recover", file: "milter/session.go", piece: `recover() != nil`, with: "false", test: "milter TestPanic"},
	{code: "order", file: "milter/session.go", piece: "if «s.state != inBody» {\n\t\ts.spoil(causeOrder)", with: "false", test: "milter TestOrder"},
	{code: "no-macro", file: "milter/session.go", piece: `!ok`, with: "false", test: "milter TestNoMacro"},
	{code: "deferred-for-all", file: "milter/session.go", piece: "if reason, deferred := s.anyDeferred(all); deferred {\n\t\treturn s.deferAll(reason, causeVerdict)\n\t}", with: "", test: "milter TestDefer"},
	{code: "fault-451", file: "milter/session.go", piece: "if «s.msg.fault != \"\"» {\n\t\treturn", with: "false", test: "milter TestSpoolFailureDefers"},
	{code: "late-451", file: "milter/session.go", piece: "if «s.msg.late» {", with: "false", test: "milter TestStop"},
	{code: "render-451", file: "milter/session.go", piece: "if «err != nil» {\n\t\treturn s.deferAll(verdict.Internal, causeOf(err))", with: "false", test: "milter TestStampFails"},
	{code: "durable-before-answer", file: "milter/session.go", piece: `s.record(ctx, c, all)`, with: "nil", test: "milter TestStoreFails"},
	{code: "sealed-before-answer", file: "milter/session.go", piece: `s.preserve(ctx, c, all)`, with: "nil", test: "milter TestKeepingFails"},
	{code: "kept-before-answer", file: "milter/session.go", piece: `err = s.keep(ctx, all, e.carriers)`, with: "err = nil", test: "milter TestReplayUnwritable"},
	{code: "record-451", file: "milter/session.go", piece: "if err := s.record(ctx, c, all); «err != nil» {", with: "false", test: "milter TestStoreFails"},
	{code: "evidence-451", file: "milter/session.go", piece: "if err := s.preserve(ctx, c, all); «err != nil» {", with: "false", test: "milter TestKeepingFails"},
	{code: "keep-451", file: "milter/session.go", piece: "if «err != nil» {\n\t\ts.log.store(&s.msg, \"what was accepted was not remembered\", err)", with: "false", test: "milter TestReplayUnwritable"},
	{code: "send-451", file: "milter/session.go", piece: "if err := errors.Join(e.send(m), s.conn.flush()); «err != nil» {", with: "false", test: "milter TestModificationsFail"},
	{code: "raced", file: "milter/session.go", piece: `errors.Is(err, quarantine.ErrRaced)`, with: "false", test: "milter TestReplayAtOnce"},
	{code: "delete-before-insert", file: "milter/edits.go", piece: `for _, d := range e.delete {
		if err := m.ChangeHeader(d.Index, d.Name, ""); err != nil {
			return err
		}
	}
	for _, f := range e.insert {
		if err := m.InsertHeader(0, f.Name, f.Value); err != nil {
			return err
		}
	}`, with: `for _, f := range e.insert {
		if err := m.InsertHeader(0, f.Name, f.Value); err != nil { return err }
	}
	for _, d := range e.delete {
		if err := m.ChangeHeader(d.Index, d.Name, ""); err != nil { return err }
	}`, test: "milter TestAccept"},
	{code: "forged-of-all-mail", file: "milter/edits.go", piece: `stamp.Forged(s.msg.forged, s.config.AuthservID)`, with: "nil", test: "milter TestUnguarded"},
	{code: "refused-removed", file: "milter/edits.go", piece: `e.remove = append(e.remove, address)`, with: "", test: "milter TestSeveralRecipients"},
	{code: "simulated-never-550", file: "milter/reply.go", piece: "if s.simulated {\n\t\treturn milter.RespDiscard\n\t}", with: "", test: "milter TestReject"},
	{code: "full-never-250", file: "milter/reply.go", piece: `s.msg.original.state == quarantine.EvidenceFull`, with: "false", test: "milter TestNoRoom"},
	{code: "full-451", file: "milter/evidence.go", piece: `o.Kind != quarantine.KindOther`, with: "false", test: "milter TestNoRoom"},
	{code: "full-451", file: "milter/evidence.go", piece: `s.left(all) > 0`, with: "false", test: "milter TestNoRoom"},
	{code: "limit-recipients", file: "milter/recipients.go", piece: `m.recipientSize > maxRecipients`, with: "false", test: "milter TestRecipientsAreBounded"},
	{code: "limit-forged", file: "milter/message.go", piece: `m.forgedSize > maxForged`, with: "false", test: "milter TestForgedFieldsAreBounded"},
	{code: "limit-fields", file: "milter/message.go", piece: `len(m.header) > verdict.MaxFields`, with: "false", test: "milter TestWhatIsKept"},
	{code: "limit-header", file: "milter/message.go", piece: `m.headerSize > verdict.MaxHeader`, with: "false", test: "milter TestHeaderIsBounded"},
	{code: "spool-bound", file: "milter/spool.go", piece: `int64(len(p)) > room`, with: "false", test: "milter TestSpoolKeeps"},
	{code: "spool-memory", file: "milter/spool.go", piece: `s.file == nil && len(s.memory)+len(p) > spoolMemory`, with: "false", test: "milter TestSpoolFile"},
	{code: "misread-frame", file: "milter/conn.go", piece: `c.session.spoil(causeFrame)`, with: "", test: "milter TestFrames"},
}

// configRows cut the canonical form of a recipient.
var configRows = []row{
	{code: "recipient-quoted", file: "config/resolve.go", piece: `!strings.HasPrefix(local, ` + "`\"`" + `)`, with: "true", test: "config TestResolve"},
	{code: "recipient-case", file: "config/resolve.go", piece: `fold(address[:at])`, with: "address[:at]", test: "config TestResolve"},
	{code: "recipient-domain-case", file: "config/resolve.go", piece: `domain = fold(domain)`, with: "", test: "config TestResolve"},
	{code: "recipient-same-domain", file: "config/resolve.go", piece: `domain = same`, with: "_ = same", test: "config TestResolve"},
	{code: "recipient-extension", file: "config/resolve.go", piece: `c.cut(local)`, with: "local", test: "config TestResolve"},
	{code: "recipient-literal", file: "config/resolve.go", piece: `"[ipv6:" + ip.String() + "]"`, with: "domain", test: "config TestResolve"},
}
