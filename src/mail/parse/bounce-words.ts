/** The wording of delivery reports in many languages, and the addresses that mail systems write from. Pure. */

/** Addresses that no person writes from. */
export const DAEMON =
  /^(?:mailer[-_.]?daemon|mail[-_]?daemon|mdaemon|post[-_]master|double-bounce|mmdf|uucp|microsoftexchange[0-9a-f]{20,40})(?:@|$)/i

/** Addresses of mail systems from which people write, too. */
export const POSTMASTER = /^(?:postmaster|mail[-_.]?(?:delivery|system)[-_.\w]*|bounces?)@/i

/** Addresses of robots, and of people who look after machines and lists. */
export const MACHINE = /^(?:no[-_.]?reply|do[-_.]?not[-_.]?reply|sys(?:tem)?[-_.]?admin|.*-(?:admin|owner|request))@/i

/** Matches the prefix of a subject that people answer or pass on. */
export const ANSWER_SUBJECT =
  /^\s*(?:\[[^\]]{1,40}\]\s*)?(?:re|aw|antw|sv|vs|fwd?|wg|tr|rv|enc|doorst|vb|res?p|rif|r|i|odp|ynt|ilt|vl|vá|atb|hl|bls|trs|fs|απ|σχετ|πρθ|отв|пересл|رد|إعادة توجيه|השב|הועבר|回复|答复|转发|回覆|轉寄|返信|転送|답장|전달)\s*(?:\[\d+\]|\(\d+\))?\s*[:：]/i

export const FAILED_SUBJECT =
  /undeliver|returned (?:mail|to sender)|(?:mail|message|delivery)[\s:()]*(?:delivery )?(?:status notification|has )?\W*(?:failed|failure|fehlgeschlagen)|failure notice|delivery (?:status )?(?:notification|report|error|problem)|could not (?:be delivered|send)|(?:error|problem) sending (?:your )?(?:mail|message)|mail system error|non-?delivery|permanent(?:ly)? (?:delivery )?fail|unzustellbar|nicht zugestellt|zustellung|non remis|[eé]chec de (?:la )?remise|no se (?:ha )?(?:podido|pudo) entregar|no entregado|mancat[oa] (?:recapito|consegna)|falha na entrega|não entregue|onbestelbaar|nie została dostarczona|kunde inte levereras|olevererbar|kunne ikke leveres|nedoručiteln|kézbesíthetetlen|teslim edilemedi|не доставлено|недоставлен|退信|无法送达|無法傳遞|반송|delayed \d+ hours|delivery (?:delayed|incomplete)|配信|配送|送信できません|エラー通知|メールエラー|\[bounce\]|fail(?:ed|ure) delivery|^delivery status$|loop alert/i

export const FAILED_TEXT =
  /(?:could|can|cannot|would|were|was)\s?(?:not|n['’]t)?\s+(?:not\s+)?be\s+delivered|un(?:able|deliverable)|(?:delivery|message|mail)[^.\n]{0,60}\b(?:failed|failure|failing|rejected|impossible)|not\s+(?:deliver|reach)|undelivered|returned\s+(?:to|mail)|(?:user|mailbox|recipient|address|account|host|domain)[^.\n]{0,40}(?:unknown|not found|full|unavailable|disabled|doesn't|does not exist|invalid|rejected)|(?:unknown|invalid|no such)\s+(?:user|recipient|mailbox|address|account)|permanent (?:fatal )?error|transcript of session|gave up|giving up|bounced|had delivery (?:problems|errors)|error message below|duplicated message-id|error (?:sending|occurred while trying to deliver)|nicht zugestellt|n['’]a pas (?:pu être|été) (?:remis|délivré|distribué)|no (?:pudo|ha podido) (?:ser )?entrega|non (?:ha potuto|è stato possibile|può) (?:essere )?(?:consegna|recapita)|não (?:pôde|foi possível|pode) (?:ser )?entreg|ku?on? niet worden (?:bezorgd|afgeleverd)|nie (?:można|mogła|została)[^.\n]{0,20} dostarczon|送信できません|配信できません|无法送达|退回|не\s+(?:может быть |была\s+)?(?:доставлен|отправлен)/i

export const DELAYED_TEXT =
  /warning message only|has not yet been delivered|delivery attempts will continue|temporary problem (?:while )?deliver|will retry for|has been delayed|is delayed|delayed for more than|do not need to re-?send|temporary failure report|will (?:be retried|continue to (?:try|be)|keep trying)|could not send message for past|still trying/i

export const SMTP_ERROR = /(?:^|[\s:<#(])(?:[45]\d\d[\s-]+\S|[45]\.\d{1,3}\.\d{1,3}\b)/m

export const ORIGINAL_MARKER =
  /^[ \t>]{0,20}(?:-{2,40}[ \t]{0,20})?(?:(?:this|here|below|the following) (?:is|follows|this line)[^\n]{0,60}(?:copy|header|original|text)|original message|(?:the )?original (?:message|mail)[^\n]{0,40}follow|(?:un(?:sent|delivered)|returned|rejected) (?:message|mail)[^\n]{0,20}follow|message (?:header|text|text follows|details)|header(?:s)? of[^\n]{0,40}|(?:begin|start)[^\n]{0,20}(?:message|header)|included is a copy|beginning of the original)[^\n]{0,80}$/im
