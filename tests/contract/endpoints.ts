/** Rows of the endpoints: their parameters, bodies and answers, without authentication. */
export const ENDPOINTS = `
GET /tickets <- ticket-list: the list > shows all tickets of the organization, newest first, with every field
GET /tickets / response / id | code | subject | status | priority | contact | company | assignee | labels | created_at | updated_at | meta <- ticket-list: the list > shows all tickets of the organization, newest first, with every field
POST /tickets <- tickets: creating > a ticket is returned with every field
POST /tickets / response / ticket <- tickets: creating > a ticket is returned with every field
GET /tickets/:id <- tickets: reading > the single ticket has its messages, notes too, and its time entries
GET /tickets/:id / response / ticket | messages | time_entries <- tickets: reading > the single ticket has its messages, notes too, and its time entries
PATCH /tickets/:id <- tickets: updating > only the given fields change
DELETE /tickets/:id <- tickets: deleting > a deleted ticket is gone from everywhere, but its time stays
POST /tickets/:id/labels <- tickets: labels of a ticket > added labels join those that are there, by name
POST /tickets/:id/labels / request / label_ids <- tickets: labels of a ticket > added labels join those that are there, by name
DELETE /tickets/:id/labels <- tickets: labels of a ticket > only the given labels are removed; one that is not on the ticket is no fault
DELETE /tickets/:id/labels / request / label_ids <- tickets: labels of a ticket > only the given labels are removed; one that is not on the ticket is no fault
POST /tickets/:id/assign <- tickets: assigning > assign and unassign answer with the ticket
POST /tickets/:id/assign / request / assignee_id <- tickets: assigning > assign and unassign answer with the ticket
POST /tickets/:id/unassign <- tickets: assigning > assign and unassign answer with the ticket
Tickets / parameter / status | priority <- ticket-list: the list > %s gives %p
Tickets / parameter / assignee_id | contact_id | company_id | label_ids <- ticket-list: the list > filters by assignee, contact, company and label
Tickets / parameter / search <- ticket-search: a search > finds words of the subject, of messages and of notes, all in one ticket
Tickets / parameter / created_after | created_before <- ticket-list: the list > %s, exclusive, gives %p
Tickets / parameter / page | per_page <- ticket-list: the list > pages cut the list where they should
Tickets / field / subject <- tickets: creating > a ticket is returned with every field
Tickets / field / description <- tickets: creating > the description is a message of the contact and sends no email
Tickets / field / contact_id <- tickets: creating > a ticket is returned with every field
Tickets / field / priority <- tickets: creating > what is left out or null has its default
Tickets / field / assignee_id | label_ids <- tickets: creating > a ticket is returned with every field
Tickets / update body fields / subject | status | priority | assignee_id <- tickets: updating > all fields change together
Tickets / update body fields / label_ids <- tickets: updating > null unassigns and an empty list clears the labels
GET /tickets/:ticket_id/messages <- messages: the messages of a ticket are listed oldest first, in full and without meta
GET /tickets/:ticket_id/messages / request / include_internal <- messages: the messages of a ticket are listed oldest first, in full and without meta
GET /tickets/:ticket_id/messages / response / message | id | body | body_html | is_internal | direction | sender | attachments | created_at <- messages: the messages of a ticket are listed oldest first, in full and without meta
POST /tickets/:ticket_id/messages <- messages: a public message answers with every field
POST /tickets/:ticket_id/messages / response / message | id | body | is_internal | direction | sender <- messages: a public message answers with every field
POST /tickets/:ticket_id/messages / response / email_sent <- messages: the answer to a create has the outcome of the first attempt
POST /tickets/:ticket_id/messages / response / created_at <- messages: a public message answers with every field
GET /tickets/:ticket_id/messages/:id <- messages: a public message answers with every field
GET /tickets/:ticket_id/messages/:id / response / message <- messages: a public message answers with every field
GET /tickets/:ticket_id/messages/:id / response / email_message_id <- messages: a message of an email has its anchor once, and takes over one that was only referred to
DELETE /tickets/:ticket_id/messages/:id <- messages: a deleted message is gone with its attachments, its words and the email that has not gone out
POST /attachments <- attachments: an upload answers with the attachment, and GET gives the same
POST /attachments / request / file <- attachments: an upload with %s is VALIDATION_ERROR
POST /attachments / response / attachment <- attachments: an upload answers with the attachment, and GET gives the same
Messages / field / body <- messages: a body that is %s is EMPTY_BODY
Messages / field / is_internal <- messages: a note has no direction and is never sent, whatever is asked for
Messages / field / send_email <- messages: send_email: false sends nothing
Messages / field / attachment_ids <- messages: attachments that are unknown, used or of another organization are ATTACHMENT_NOT_FOUND, and nothing is stored
GET /contacts <- contacts: the list > is newest first, in pages
GET /contacts / request / search <- contacts: the list > finds parts of name or email without regard to case and accents, and takes wildcards literally
GET /contacts / request / company_id <- contacts: the list > filters by company and by exact email
GET /contacts / request / page | per_page <- contacts: the list > is newest first, in pages
GET /contacts / response / id | name | email | phone | company <- contacts: the list > is newest first, in pages
GET /contacts / response / ticket_count <- contacts: tickets are counted and the 10 newest shown, without deleted ones
GET /contacts / response / created_at | meta <- contacts: the list > is newest first, in pages
POST /contacts <- contacts: creating > a contact is returned with every field
POST /contacts / request / name <- contacts: creating > a contact is returned with every field
POST /contacts / request / email <- contacts: creating > an email is unique in its organization without regard to case
POST /contacts / request / phone <- contacts: creating > optional fields are null when absent or null
POST /contacts / request / company_id <- contacts: the company of a contact > is the given one, and none when null is given
POST /contacts / request / notes <- contacts: creating > optional fields are null when absent or null
GET /contacts/:id <- contacts: tickets are counted and the 10 newest shown, without deleted ones
GET /contacts/:id / response / recent_tickets | total_tickets | notes | updated_at <- contacts: tickets are counted and the 10 newest shown, without deleted ones
PATCH /contacts/:id <- contacts: updating > changes only what is given, and null clears what may be empty
PATCH /contacts/:id / request / name | phone <- contacts: updating > changes only what is given, and null clears what may be empty
DELETE /contacts/:id <- contacts: deleting > keeps tickets, messages and participants, and frees the email
GET /companies <- companies: the list is newest first, paged, with counts
GET /companies / response / id | name | domains | hourly_rate | currency | contact_count | ticket_count <- companies: the list is newest first, paged, with counts
POST /companies <- companies: creating > a company is returned with every field
POST /companies / request / name <- companies: creating > only a name is needed; the currency is then that of the organization
POST /companies / request / domains <- companies: creating > a company may have 20 domains
POST /companies / request / hourly_rate <- companies: creating > the rate may be %p
POST /companies / request / currency | ticket_prefix | notes <- companies: creating > a company is returned with every field
GET /companies/:id <- companies: a company shows its contacts, recent tickets and all the time that was logged for it
GET /companies/:id / response / contacts | recent_tickets | total_tickets | total_time_minutes <- companies: a company shows its contacts, recent tickets and all the time that was logged for it
PATCH /companies/:id <- companies: updating > changes only what is given, and null clears what may be empty
PATCH /companies/:id / request / hourly_rate | domains <- companies: updating > changes only what is given, and null clears what may be empty
DELETE /companies/:id <- companies: deleting a company keeps its contacts and tickets, unlinked, and tells of no ticket
GET /labels <- labels: reading > all labels are listed by name without regard to case, without meta
GET /labels / response / label <- labels: reading > all labels are listed by name without regard to case, without meta
POST /labels <- labels: creating > a label is returned with every field
POST /labels / request / name <- labels: creating > a name is used once in the organization, without regard to case
POST /labels / request / color <- labels: creating > is refused with %j
POST /labels / request / description <- labels: creating > needs no description
POST /labels / response / label | ticket_count <- labels: creating > a label is returned with every field
GET /labels/:id <- labels: reading > tickets are counted, by status for a single label, without deleted ones
PATCH /labels/:id <- labels: updating > changes what is given and nothing else
PATCH /labels/:id / request / name | color <- labels: updating > changes what is given and nothing else
DELETE /labels/:id <- labels: deleting > removes the label from its tickets, which do not change otherwise
GET /time-entries <- time-entries: the list > is by date, newest first, then newest created, in pages
GET /time-entries / response / meta | total | page | per_page <- time-entries: the list > is by date, newest first, then newest created, in pages
GET /time-entries / response / totals | duration_minutes | billable_amount <- time-entries: the list > totals are over the whole filtered list, not the page
POST /tickets/:ticket_id/time-entries <- time-entries: logging > an entry is returned with every field
POST /tickets/:ticket_id/time-entries / response / time | entry <- time-entries: logging > an entry is returned with every field
GET /time-entries/:id <- time-entries: logging > an entry is returned with every field
PATCH /time-entries/:id <- time-entries: updating > changes what is given and computes the amount anew
PATCH /time-entries/:id / request / duration_minutes | description | billable <- time-entries: updating > changes what is given and computes the amount anew
DELETE /time-entries/:id <- time-entries: events and the timeline tell of every change, and of nothing else
GET /time-entries/summary <- time-entries: the summary > is by company unless asked otherwise, most minutes first
GET /time-entries/summary / request / group_by <- time-entries: the summary > by user has one item for each currency
GET /time-entries/summary / request / date_from | date_to <- time-entries: the summary > is of the days that are asked for
GET /time-entries/export <- time-entries: the export > is CSV in the order of the list, named after its days
GET /time-entries/export / request / format | date_from | date_to <- time-entries: the export > is CSV in the order of the list, named after its days
Time entries / list query parameters / ticket_id | user_id | company_id | billable | date_from | date_to <- time-entries: the list > filters by ticket, user, company of the ticket now, billable and days
Time entries / list query parameters / page | per_page <- time-entries: the list > is by date, newest first, then newest created, in pages
Time entries / log time body / duration_minutes <- time-entries: logging > a wrong field is refused: %j
Time entries / log time body / description <- time-entries: logging > an entry is returned with every field
Time entries / log time body / billable | date <- time-entries: logging > an entry is billable, of today in UTC and without a rate unless something says otherwise
Time entries / log time body / rate <- time-entries: logging > %p minutes at %p an hour are %p: to the cent, half up
Time entries / summary / group_by | company | id | name | total_minutes | billable_minutes | total_amount | currency <- time-entries: the summary > is by company unless asked otherwise, most minutes first
Time entries / summary / user <- time-entries: the summary > by user has one item for each currency
Time entries / csv column / Date | Ticket Code | Ticket Subject | Company | User | Duration | Description | Billable | Rate | Amount | Currency <- csv: the header names the columns in the order of the interface
GET /webhooks <- webhooks: listing > webhooks are listed newest first, in pages
POST /webhooks <- webhooks: creating > a webhook has its fields, defaults, and no secret in sight
POST /webhooks / request / url | events <- webhooks: creating > %s
POST /webhooks / request / secret | active <- webhooks: creating > a webhook can be created switched off and without a secret
GET /webhooks/:id <- webhooks: creating > a webhook has its fields, defaults, and no secret in sight
PATCH /webhooks/:id <- webhooks: changing > each field can be changed alone
DELETE /webhooks/:id <- webhooks: deleting > a deleted webhook is gone with its deliveries, and what is queued is cancelled
POST /webhooks/:id/test <- webhooks: test > a test sends test.ping at once and answers its delivery
POST /webhooks/:id/test / response / test.ping <- webhooks: test > a test sends test.ping at once and answers its delivery
GET /webhooks/:id/deliveries <- webhooks: deliveries > deliveries are listed newest first, in pages, by status and event
GET /webhooks/:id/deliveries / response / delivery <- webhooks: deliveries > deliveries are listed newest first, in pages, by status and event
`
