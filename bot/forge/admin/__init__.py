"""The admin API below `/_forge/`: what on GitHub is done with a mouse, what a test needs to see, and faults.

Every call carries `Authorization: Bearer <admin token>`; bodies and answers are JSON.

    POST   /_forge/users                   {login, type?}                   -> {login, token}
    POST   /_forge/repositories            {owner, name, private?, permissions?: {login: role}, default_branch?}
                                                                            -> repository
    POST   /_forge/forks                   {repository, owner}              -> repository
    PUT    /_forge/permissions             {repository, login, role}        -> {}
    POST   /_forge/apps                    {name, owner, webhook_url?, webhook_secret?, permissions?, events?}
                                                                            -> App with pem, webhook_secret, …
    POST   /_forge/app-manifests           {owner, manifest}                -> {code}
    POST   /_forge/installations           {app_id, account, repositories?: ["owner/name"]}   -> installation
    PUT    /_forge/installations/{id}      {repositories?, suspended?}      -> installation
    DELETE /_forge/installations/{id}                                       -> nothing
    POST   /_forge/tokens                  {installation_id, repository_ids?, permissions?, seconds?} -> token
    POST   /_forge/check-runs/{id}/actions {login, identifier}              -> {}   (somebody presses a button)
    POST   /_forge/faults                  {kind, method?, path?, times?, …}: `bot.forge.faults.Fault`  -> {}
    DELETE /_forge/faults                                                   -> nothing
    POST   /_forge/delivery-faults         {fate, match?, times?, seconds?}: `DeliveryFault`           -> {}
    DELETE /_forge/delivery-faults                                          -> nothing
    GET    /_forge/deliveries                                               -> [delivery with request and response]
    POST   /_forge/deliveries/release      {ids?}: held ones, in that order -> {released: [id]}
    POST   /_forge/deliveries/{id}/redeliver                                -> {}
    GET    /_forge/state                                                    -> every table, without keys and tokens

Renaming, deleting, opening, closing, commenting and pushing have calls of GitHub's own, made with a user's token.
"""
