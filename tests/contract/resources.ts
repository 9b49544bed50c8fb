/** Rows of the service, its resources with their fields, and the transitions of a ticket. */
export const RESOURCES = `
What the service does / rule / 1 <- inbound-mail: mail of a new sender becomes a ticket with a first message, and the same events as over the API
What the service does / rule / 2 <- mail-threading: a reply to our message is threaded by In-Reply-To, before References
What the service does / rule / 3 <- inbound-mail: attachments are stored with the same bytes, and cid images point to them
What the service does / rule / 4 <- inbound-mail: mail of HTML only has a text made from it, and its HTML is made safe
Conventions / item / id | datetime | date | decimal <- contract-rows: ids, times, days and decimals look alike in every answer
Conventions / item / single-object response | list response <- contract-rows: single objects come as data, pages as data and meta
Conventions / item / error response <- requests: every answer > that is an error has code, message and details
Ticket / field / id <- tickets: creating > a ticket is returned with every field
Ticket / field / code <- ticket-code: codes > the prefix is the company's, else the organization's, and one counter serves all
Ticket / field / subject | status <- tickets: creating > a ticket is returned with every field
Ticket / field / priority <- tickets: creating > what is left out or null has its default
Ticket / field / contact | company | assignee | labels | created_at | updated_at <- tickets: creating > a ticket is returned with every field
Ticket / field / messages | time_entries <- tickets: reading > the single ticket has its messages, notes too, and its time entries
Message / field / id | body | body_html | is_internal <- messages: a public message answers with every field
Message / field / direction <- messages: a note has no direction and is never sent, whatever is asked for
Message / field / sender | attachments <- messages: a public message answers with every field
Message / field / email_sent <- messages: the answer to a create has the outcome of the first attempt
Message / field / email_message_id <- messages: a message of an email has its anchor once, and takes over one that was only referred to
Message / field / created_at <- messages: a public message answers with every field
Attachment / field / id | filename | content_type | size <- attachments: an upload answers with the attachment, and GET gives the same
Attachment / field / url <- attachments: the url of an attachment works without a token
Contact / field / id | name | email | phone | company <- contacts: creating > a contact is returned with every field
Contact / field / company_id <- contacts: the company of a contact > is the given one, and none when null is given
Contact / field / notes <- contacts: creating > a contact is returned with every field
Contact / field / ticket_count | recent_tickets | total_tickets <- contacts: tickets are counted and the 10 newest shown, without deleted ones
Contact / field / created_at | updated_at <- contacts: creating > a contact is returned with every field
Company / field / id | name | domains | hourly_rate | currency <- companies: creating > a company is returned with every field
Company / field / ticket_prefix <- ticket-code: codes > the prefix is the company's, else the organization's, and one counter serves all
Company / field / notes <- companies: creating > a company is returned with every field
Company / field / contact_count | ticket_count <- companies: the list is newest first, paged, with counts
Company / field / contacts | recent_tickets | total_tickets | total_time_minutes <- companies: a company shows its contacts, recent tickets and all the time that was logged for it
Company / rule / 1 <- contacts: the company of a contact > is found by the domain of the email
Company / rule / 2 <- companies: linking contacts > links those without a company that belong to it, with their tickets
Company / rule / 3 <- company-domains: an address belongs to its domain and those above it, longest first
Company / rule / 4 <- companies: deleting a company keeps its contacts and tickets, unlinked, and tells of no ticket
Label / field / id | name | color | description <- labels: creating > a label is returned with every field
Label / field / ticket_count <- labels: reading > tickets are counted, by status for a single label, without deleted ones
Label / field / created_at <- labels: creating > a label is returned with every field
Label / color / #EF4444 | #F97316 | #EAB308 | #22C55E | #3B82F6 | #8B5CF6 | #6B7280 <- contract-rows: a label may have each colour of the palette
Time entry / field / id | ticket | user | duration_minutes | description <- time-entries: logging > an entry is returned with every field
Time entry / field / billable <- time-entries: logging > an entry is billable, of today in UTC and without a rate unless something says otherwise
Time entry / field / rate | currency <- time-entries: logging > the rate is that of the company, else of the user, else of the organization, and stays
Time entry / field / amount <- time-entries: logging > %p minutes at %p an hour are %p: to the cent, half up
Time entry / field / date <- time-entries: logging > an entry is billable, of today in UTC and without a rate unless something says otherwise
Time entry / field / created_at <- time-entries: logging > an entry is returned with every field
Webhook / field / url | events <- webhooks: creating > a webhook has its fields, defaults, and no secret in sight
Webhook / field / secret <- webhook-signature: the headers of a delivery > carry the HMAC-SHA256 of the exact bytes in lower case hex
Webhook / field / active <- webhooks: creating > a webhook can be created switched off and without a secret
Webhook delivery / field / id | event | status | response_code | response_time_ms | created_at <- webhook-delivery: a delivery is a signed POST of the event
User and organization membership / field / id | email | name | organizations <- auth: the own account > lists the organizations with the role in each, oldest first
Ticket status / open -> pending | open -> resolved | open -> closed | pending -> open | pending -> resolved | pending -> closed | resolved -> open | resolved -> closed | closed -> open <- ticket-status: status > %s becomes %s
`
