(** The strategy [competitive]: never worse than twice the best, for the sum of all delays and of a
    price for each write. README.md says in plain words what this proves, and what it does not.

    Times are whole numbers of one unit, nanoseconds in the code. A stream is the list of its
    messages' times of arrival, which do not decrease. *)

From Coq Require Import Arith Bool Lia List Sorted.
Import ListNotations.

(** * What is compared *)

Fixpoint sum (numbers : list nat) : nat :=
  match numbers with
  | [] => 0
  | number :: others => number + sum others
  end.

(** Anybody's schedule: for each message the time at which it leaves, which is not before it came and
    is the time of some write. Messages need not leave in order, nor need the schedule follow any
    rule: whoever made it may have known the whole stream. *)
Definition is_schedule (arrivals leaves writes : list nat) : Prop :=
  Forall2 le arrivals leaves /\ Forall (fun leave => In leave writes) leaves.

Fixpoint delays (arrivals leaves : list nat) : nat :=
  match arrivals, leaves with
  | came :: arrivals', gone :: leaves' => (gone - came) + delays arrivals' leaves'
  | _, _ => 0
  end.

Definition cost (price : nat) (arrivals leaves writes : list nat) : nat :=
  delays arrivals leaves + price * length writes.

(** * The rule *)

(** When [held], the times of arrival of what is held, is due: [(price + sum) / n], rounded up. *)
Definition deadline (price : nat) (held : list nat) : nat :=
  (price + sum held + (length held - 1)) / length held.

Record batch := { messages : list nat; written_at : nat }.

Definition batch_of (price : nat) (held : list nat) : batch :=
  {| messages := held; written_at := deadline price held |}.

(** What the rule makes of a stream of which [held] is held and [later] is still to come. A message
    that comes at the deadline exactly may join the batch or begin the next one. At the end of the
    stream what is held leaves at its deadline, as ever. *)
Inductive follows (price : nat) : list nat -> list nat -> list batch -> Prop :=
  | ends : forall held, follows price held [] [batch_of price held]
  | joins : forall held came later batches,
      came <= deadline price held ->
      follows price (held ++ [came]) later batches ->
      follows price held (came :: later) batches
  | begins : forall held came later batches,
      deadline price held <= came ->
      follows price [came] later batches ->
      follows price held (came :: later) (batch_of price held :: batches).

Definition obeys (price : nat) (arrivals : list nat) (batches : list batch) : Prop :=
  match arrivals with
  | [] => batches = []
  | first :: later => follows price [first] later batches
  end.

(** The rule as a schedule like anybody's. *)
Definition leaves_of (batches : list batch) : list nat :=
  flat_map (fun one => repeat (written_at one) (length (messages one))) batches.

Definition writes_of (batches : list batch) : list nat := map written_at batches.

Definition cost_of (price : nat) (arrivals : list nat) (batches : list batch) : nat :=
  cost price arrivals (leaves_of batches) (writes_of batches).

(** * Sums and deadlines *)

Lemma one_is_some : forall came : nat, [came] <> [].
Proof.
  intros came none. discriminate none.
Qed.

Lemma one_more_is_some : forall (held : list nat) came, held ++ [came] <> [].
Proof.
  intros held came none. apply app_eq_nil in none. destruct none as [_ none]. discriminate none.
Qed.

Lemma regroup : forall (held : list nat) came later,
  held ++ came :: later = (held ++ [came]) ++ later.
Proof.
  intros held came later. rewrite <- app_assoc. reflexivity.
Qed.

Lemma sum_app : forall one other, sum (one ++ other) = sum one + sum other.
Proof.
  intros one other. induction one as [| number one IH]; simpl.
  - reflexivity.
  - simpl. rewrite IH. lia.
Qed.

Lemma sum_at_least : forall least numbers,
  Forall (le least) numbers -> length numbers * least <= sum numbers.
Proof.
  intros least numbers H. induction H as [| number numbers H1 H2 IH]; simpl.
  - lia.
  - lia.
Qed.

(** The deadline is the first whole time at which all delays together have come to the price. *)
Lemma deadline_bounds : forall price held, held <> [] ->
  price + sum held <= length held * deadline price held /\
  length held * deadline price held + 1 <= price + sum held + length held.
Proof.
  intros price held nonempty.
  assert (positive : 1 <= length held).
  { destruct held; [contradiction | simpl; lia]. }
  unfold deadline.
  set (n := length held) in *.
  set (x := price + sum held) in *.
  pose proof (Nat.div_mod (x + (n - 1)) n) as division.
  pose proof (Nat.mod_upper_bound (x + (n - 1)) n) as rest.
  assert (n <> 0) as nonzero by lia.
  specialize (division nonzero). specialize (rest nonzero).
  set (q := (x + (n - 1)) / n) in *.
  set (r := (x + (n - 1)) mod n) in *.
  lia.
Qed.

Lemma deadline_of_one : forall price came, deadline price [came] = price + came.
Proof.
  intros price came. unfold deadline. simpl length.
  replace (price + sum [came] + (1 - 1)) with (price + came).
  - apply Nat.div_1_r.
  - simpl. lia.
Qed.

(** A message that comes by the deadline moves it no later, and not to before its own arrival. *)
Lemma deadline_only_moves_earlier : forall price held came, held <> [] ->
  came <= deadline price held ->
  came <= deadline price (held ++ [came]) <= deadline price held.
Proof.
  intros price held came nonempty in_time.
  destruct (deadline_bounds price held nonempty) as [enough close].
  destruct (deadline_bounds price (held ++ [came]) (one_more_is_some held came)) as [enough' close'].
  rewrite sum_app in enough', close'. rewrite app_length in enough', close'.
  cbn [sum length] in enough', close'.
  set (n := length held) in *.
  set (t := deadline price held) in *.
  set (t' := deadline price (held ++ [came])) in *.
  set (s := sum held) in *.
  split.
  - destruct (le_lt_dec came t') as [done | sooner]; [exact done | exfalso].
    assert (n * came <= n * t) by (apply Nat.mul_le_mono_l; exact in_time).
    assert ((n + 1) * (t' + 1) <= (n + 1) * came) by (apply Nat.mul_le_mono_l; lia).
    lia.
  - destruct (le_lt_dec t' t) as [done | later]; [exact done | exfalso].
    assert ((n + 1) * (t + 1) <= (n + 1) * t') by (apply Nat.mul_le_mono_l; lia).
    lia.
Qed.

(** * What any schedule pays *)

Definition between (from upto at_ : nat) : bool := (from <=? at_) && (at_ <? upto).

Lemma writes_are_split : forall from upto writes, from <= upto ->
  length (filter (between from upto) writes) + length (filter (Nat.leb upto) writes)
  = length (filter (Nat.leb from) writes).
Proof.
  intros from upto writes ordered. induction writes as [| at_ writes IH].
  - reflexivity.
  - simpl. unfold between at 1.
    destruct (Nat.leb_spec from at_); destruct (Nat.ltb_spec at_ upto);
      destruct (Nat.leb_spec upto at_); simpl; lia.
Qed.

Lemma delays_until : forall upto held leaves,
  Forall2 le held leaves -> Forall (le upto) leaves ->
  length held * upto <= delays held leaves + sum held.
Proof.
  intros upto held leaves H. induction H as [| came gone held leaves H1 H2 IH]; intro late.
  - simpl. lia.
  - inversion late as [| ? ? late1 late2]; subst. specialize (IH late2).
    simpl. lia.
Qed.

Lemma as_many_leave : forall held leaves, Forall2 le held leaves -> length held = length leaves.
Proof.
  intros held leaves H. induction H; simpl; congruence.
Qed.

Lemma delays_app : forall one one' other other', length one = length one' ->
  delays (one ++ other) (one' ++ other') = delays one one' + delays other other'.
Proof.
  induction one as [| came one IH]; intros one' other other' same; destruct one' as [| gone one'];
    simpl in *; try discriminate.
  - reflexivity.
  - rewrite IH; [lia | congruence].
Qed.

(** For the messages of one batch: a write between the first arrival and the deadline, or a delay of as
    much as the price, for then all leave at the deadline or later. *)
Lemma one_batch_is_paid : forall price held first leaves writes, held <> [] ->
  Forall (le first) held ->
  Forall2 le held leaves ->
  Forall (fun leave => In leave writes) leaves ->
  price <= delays held leaves
           + price * length (filter (between first (deadline price held)) writes).
Proof.
  intros price held first leaves writes nonempty not_before in_order written.
  destruct (deadline_bounds price held nonempty) as [enough _].
  destruct (filter (between first (deadline price held)) writes) as [| at_ others] eqn:found.
  - assert (late : Forall (le (deadline price held)) leaves).
    { apply Forall_forall. intros leave leaves_then.
      rewrite Forall_forall in written. specialize (written leave leaves_then).
      destruct (le_lt_dec (deadline price held) leave) as [done | sooner]; [exact done | exfalso].
      assert (after_first : first <= leave).
      { clear - not_before in_order leaves_then.
        induction in_order as [| came gone held leaves H1 H2 IH]; [destruct leaves_then |].
        inversion not_before as [| ? ? before1 before2]; subst.
        destruct leaves_then as [same | leaves_then]; [subst; lia | exact (IH before2 leaves_then)]. }
      assert (inside : In leave (filter (between first (deadline price held)) writes)).
      { apply filter_In. split; [exact written |]. unfold between.
        apply andb_true_intro. split; [apply Nat.leb_le; lia | apply Nat.ltb_lt; lia]. }
      rewrite found in inside. destruct inside. }
    pose proof (delays_until (deadline price held) held leaves in_order late). simpl. lia.
  - simpl length. rewrite Nat.mul_succ_r. lia.
Qed.

Lemma first_by_deadline : forall price held first, held <> [] ->
  Forall (le first) held -> first <= deadline price held.
Proof.
  intros price held first nonempty not_before.
  destruct (deadline_bounds price held nonempty) as [enough _].
  pose proof (sum_at_least first held not_before) as least.
  assert (positive : 0 < length held).
  { destruct held; [contradiction | simpl; lia]. }
  apply (Nat.mul_le_mono_pos_l first (deadline price held) (length held) positive). lia.
Qed.

(** So every schedule pays the price once for each batch of the rule: the times from each batch's first
    arrival to its deadline do not overlap. *)
Lemma all_batches_are_paid : forall price held later batches, follows price held later batches ->
  forall first leaves writes, held <> [] ->
  Forall (le first) held ->
  StronglySorted le (first :: later) ->
  Forall2 le (held ++ later) leaves ->
  Forall (fun leave => In leave writes) leaves ->
  price * length batches
  <= delays (held ++ later) leaves + price * length (filter (Nat.leb first) writes).
Proof.
  intros price held later batches H.
  induction H as [held | held came later batches in_time H IH | held came later batches late H IH];
    intros first leaves writes nonempty not_before sorted in_order written.
  - rewrite app_nil_r in *. simpl length. rewrite Nat.mul_1_r.
    pose proof (one_batch_is_paid price held first leaves writes nonempty not_before in_order written).
    pose proof (first_by_deadline price held first nonempty not_before) as ordered.
    pose proof (writes_are_split first (deadline price held) writes ordered) as parts.
    rewrite <- parts. rewrite Nat.mul_add_distr_l. lia.
  - inversion sorted as [| ? ? sorted1 from_first]; subst.
    inversion sorted1 as [| ? ? sorted2 from_came]; subst.
    inversion from_first as [| ? ? came_after later_after]; subst.
    rewrite regroup in in_order |- *.
    apply IH; try assumption.
    + apply one_more_is_some.
    + apply Forall_app. split; [assumption | constructor; [assumption | constructor]].
    + constructor; assumption.
  - inversion sorted as [| ? ? sorted1 from_first]; subst.
    apply Forall2_app_inv_l in in_order.
    destruct in_order as (own & others & own_order & other_order & both). subst leaves.
    apply Forall_app in written. destruct written as [own_written other_written].
    rewrite delays_app by (apply as_many_leave; assumption).
    pose proof (one_batch_is_paid price held first own writes nonempty not_before own_order own_written)
      as paid.
    pose proof (first_by_deadline price held first nonempty not_before) as ordered.
    pose proof (writes_are_split first (deadline price held) writes ordered) as parts.
    assert (rest : price * length batches
      <= delays ([came] ++ later) others
         + price * length (filter (Nat.leb (deadline price held)) writes)).
    { apply IH.
      - apply one_is_some.
      - constructor; [exact late | constructor].
      - inversion sorted1 as [| ? ? sorted2 from_came]; subst.
        constructor; [exact sorted2 |].
        apply Forall_forall. intros one among. rewrite Forall_forall in from_came.
        specialize (from_came one among). lia.
      - exact other_order.
      - exact other_written. }
    rewrite <- parts. rewrite Nat.mul_add_distr_l. simpl length. rewrite Nat.mul_succ_r.
    cbn [app] in rest. lia.
Qed.

(** * What the rule pays *)

Lemma delays_of_batch : forall upto held, Forall (fun came => came <= upto) held ->
  delays held (repeat upto (length held)) + sum held = length held * upto.
Proof.
  intros upto held H. induction H as [| came held H1 H2 IH].
  - reflexivity.
  - simpl in *. lia.
Qed.

Lemma all_by : forall came held later, StronglySorted le (held ++ came :: later) ->
  Forall (fun before => before <= came) held.
Proof.
  intros came held later. induction held as [| before held IH]; intro sorted.
  - constructor.
  - simpl in sorted. inversion sorted as [| ? ? sorted1 from_before]; subst.
    constructor.
    + rewrite Forall_forall in from_before. apply from_before. apply in_or_app. right. left. reflexivity.
    + exact (IH sorted1).
Qed.

Lemma sorted_end : forall held later, StronglySorted le (held ++ later) -> StronglySorted le later.
Proof.
  intros held later. induction held as [| before held IH]; intro sorted.
  - exact sorted.
  - simpl in sorted. inversion sorted; subst. auto.
Qed.

Lemma one_by_deadline : forall price came,
  Forall (fun one => one <= deadline price [came]) [came].
Proof.
  intros price came. constructor; [rewrite deadline_of_one; lia | constructor].
Qed.

Lemma still_by_deadline : forall price held came later, held <> [] ->
  came <= deadline price held ->
  StronglySorted le (held ++ came :: later) ->
  Forall (fun one => one <= deadline price (held ++ [came])) (held ++ [came]).
Proof.
  intros price held came later nonempty in_time sorted.
  destruct (deadline_only_moves_earlier price held came nonempty in_time) as [after _].
  apply Forall_app. split; [| constructor; [exact after | constructor]].
  pose proof (all_by came held later sorted) as by_came.
  rewrite Forall_forall in by_came |- *. intros before among. specialize (by_came before among). lia.
Qed.

(** The rule makes a schedule, and its delays are the price for each batch, and less than one unit of
    time more for each message: that is what rounding adds. *)
Lemma the_rule_pays : forall price held later batches, follows price held later batches ->
  held <> [] ->
  Forall (fun came => came <= deadline price held) held ->
  StronglySorted le (held ++ later) ->
  is_schedule (held ++ later) (leaves_of batches) (writes_of batches) /\
  delays (held ++ later) (leaves_of batches) + length batches
  <= price * length batches + length (held ++ later).
Proof.
  assert (whole : forall upto held, Forall (fun came => came <= upto) held ->
            Forall2 le held (repeat upto (length held))).
  { intros upto held H. induction H; simpl; constructor; assumption. }
  intros price held later batches H.
  induction H as [held | held came later batches in_time H IH | held came later batches late H IH];
    intros nonempty by_deadline sorted.
  - rewrite app_nil_r in *. unfold leaves_of, writes_of, batch_of, is_schedule. simpl. rewrite app_nil_r.
    split.
    + split; [apply whole; assumption |].
      rewrite Forall_forall. intros one among. left. symmetry.
      exact (repeat_spec (length held) (deadline price held) one among).
    + pose proof (delays_of_batch (deadline price held) held by_deadline) as exactly.
      destruct (deadline_bounds price held nonempty) as [_ most]. lia.
  - pose proof (still_by_deadline price held came later nonempty in_time sorted) as by_deadline'.
    rewrite regroup in sorted |- *.
    apply IH; try assumption. apply one_more_is_some.
  - pose proof (sorted_end held (came :: later) sorted) as sorted_later.
    destruct (IH (one_is_some came) (one_by_deadline price came) sorted_later)
      as [[in_order written] least].
    unfold leaves_of, writes_of, batch_of, is_schedule in *. simpl. cbn [app] in in_order, least.
    split.
    + split.
      * apply Forall2_app; [apply whole; assumption | exact in_order].
      * apply Forall_app. split.
        -- rewrite Forall_forall. intros one among. left. symmetry.
           exact (repeat_spec (length held) (deadline price held) one among).
        -- rewrite Forall_forall in written |- *. intros one among. right. exact (written one among).
    + rewrite delays_app by (symmetry; apply repeat_length).
      pose proof (delays_of_batch (deadline price held) held by_deadline) as exactly.
      destruct (deadline_bounds price held nonempty) as [_ most].
      rewrite app_length. cbn [length] in *. rewrite Nat.mul_succ_r. lia.
Qed.

(** Where every deadline is a whole number, rounding adds nothing. *)
Definition is_whole (price : nat) (one : batch) : Prop :=
  length (messages one) * written_at one = price + sum (messages one).

Lemma the_rule_pays_exactly : forall price held later batches, follows price held later batches ->
  held <> [] ->
  Forall (fun came => came <= deadline price held) held ->
  StronglySorted le (held ++ later) ->
  Forall (is_whole price) batches ->
  delays (held ++ later) (leaves_of batches) = price * length batches.
Proof.
  intros price held later batches H.
  induction H as [held | held came later batches in_time H IH | held came later batches late H IH];
    intros nonempty by_deadline sorted whole.
  - rewrite app_nil_r in *. unfold leaves_of, batch_of. simpl. rewrite app_nil_r.
    inversion whole as [| ? ? whole1 _]; subst. unfold is_whole in whole1. simpl in whole1.
    pose proof (delays_of_batch (deadline price held) held by_deadline). lia.
  - pose proof (still_by_deadline price held came later nonempty in_time sorted) as by_deadline'.
    rewrite regroup in sorted |- *.
    apply IH; try assumption. apply one_more_is_some.
  - inversion whole as [| ? ? whole1 whole2]; subst.
    pose proof (sorted_end held (came :: later) sorted) as sorted_later.
    pose proof (IH (one_is_some came) (one_by_deadline price came) sorted_later whole2) as others.
    unfold leaves_of, batch_of in *. simpl. cbn [app] in others.
    rewrite delays_app by (symmetry; apply repeat_length).
    unfold is_whole in whole1. simpl in whole1.
    pose proof (delays_of_batch (deadline price held) held by_deadline).
    rewrite Nat.mul_succ_r. lia.
Qed.

(** * The promise *)

Lemma every_batch_is_paid : forall price arrivals batches leaves writes,
  StronglySorted le arrivals ->
  obeys price arrivals batches ->
  is_schedule arrivals leaves writes ->
  price * length batches <= cost price arrivals leaves writes.
Proof.
  intros price arrivals batches leaves writes sorted obeyed [in_order written].
  destruct arrivals as [| first later].
  - simpl in obeyed. subst batches. simpl. rewrite Nat.mul_0_r. lia.
  - simpl in obeyed.
    assert (paid : price * length batches
      <= delays ([first] ++ later) leaves + price * length (filter (Nat.leb first) writes)).
    { apply (all_batches_are_paid price [first] later batches obeyed); try assumption.
      - apply one_is_some.
      - constructor; constructor. }
    assert (some : length (filter (Nat.leb first) writes) <= length writes).
    { clear. induction writes as [| at_ writes IH]; [apply le_n | simpl].
      destruct (first <=? at_); simpl; lia. }
    apply (Nat.mul_le_mono_l _ _ price) in some.
    unfold cost. change ([first] ++ later) with (first :: later) in paid. lia.
Qed.

(** What leaves by the rule is a schedule as anybody's. *)
Theorem the_rule_makes_a_schedule : forall price arrivals batches,
  StronglySorted le arrivals ->
  obeys price arrivals batches ->
  is_schedule arrivals (leaves_of batches) (writes_of batches).
Proof.
  intros price arrivals batches sorted obeyed. destruct arrivals as [| first later].
  - simpl in obeyed. subst batches. split; constructor.
  - simpl in obeyed.
    destruct (the_rule_pays price [first] later batches obeyed (one_is_some first)
                (one_by_deadline price first) sorted) as [made _].
    exact made.
Qed.

(** Never worse than twice any schedule, but for rounding: less than one unit of time a message. *)
Theorem never_worse_than_twice : forall price arrivals batches leaves writes,
  StronglySorted le arrivals ->
  obeys price arrivals batches ->
  is_schedule arrivals leaves writes ->
  cost_of price arrivals batches + length batches
  <= 2 * cost price arrivals leaves writes + length arrivals.
Proof.
  intros price arrivals batches leaves writes sorted obeyed anybody.
  pose proof (every_batch_is_paid price arrivals batches leaves writes sorted obeyed anybody) as paid.
  assert (own : delays arrivals (leaves_of batches) + length batches
                <= price * length batches + length arrivals).
  { destruct arrivals as [| first later].
    - simpl in obeyed. subst batches. simpl. lia.
    - simpl in obeyed.
      destruct (the_rule_pays price [first] later batches obeyed (one_is_some first)
                  (one_by_deadline price first) sorted) as [_ most].
      exact most. }
  unfold cost_of. unfold cost at 1. unfold writes_of. rewrite map_length. lia.
Qed.

(** Where all deadlines are whole numbers, as in a unit that is small enough, it is twice exactly. *)
Theorem never_worse_than_twice_in_whole_times : forall price arrivals batches leaves writes,
  StronglySorted le arrivals ->
  obeys price arrivals batches ->
  Forall (is_whole price) batches ->
  is_schedule arrivals leaves writes ->
  cost_of price arrivals batches <= 2 * cost price arrivals leaves writes.
Proof.
  intros price arrivals batches leaves writes sorted obeyed whole anybody.
  pose proof (every_batch_is_paid price arrivals batches leaves writes sorted obeyed anybody) as paid.
  assert (own : delays arrivals (leaves_of batches) = price * length batches).
  { destruct arrivals as [| first later].
    - simpl in obeyed. subst batches. simpl. lia.
    - simpl in obeyed.
      exact (the_rule_pays_exactly price [first] later batches obeyed (one_is_some first)
               (one_by_deadline price first) sorted whole). }
  unfold cost_of. unfold cost at 1. unfold writes_of. rewrite map_length. lia.
Qed.

(** * The code's arithmetic *)

(** The code keeps no sums of times. It keeps what is left of the price at the last arrival, and adds
    to that time what is left, divided by the number of messages and rounded up. It is the same. *)
Theorem what_is_left_says_the_same : forall price held last left_,
  held <> [] ->
  length held * last + left_ = price + sum held ->
  deadline price held = last + (left_ + (length held - 1)) / length held.
Proof.
  intros price held last left_ nonempty kept.
  assert (positive : length held <> 0).
  { destruct held; [contradiction | simpl; lia]. }
  unfold deadline. rewrite <- kept.
  replace (length held * last + left_ + (length held - 1))
    with (last * length held + (left_ + (length held - 1))) by lia.
  rewrite Nat.div_add_l by exact positive. reflexivity.
Qed.

(** And so it stays: a message that comes at [came] takes from it the time since the last one for each
    message that was held, and there is as much left as that. *)
Theorem what_is_left_is_kept : forall price held last left_ came,
  held <> [] ->
  length held * last + left_ = price + sum held ->
  last <= came ->
  came < deadline price held ->
  length held * (came - last) <= left_ /\
  length (held ++ [came]) * came + (left_ - length held * (came - last))
  = price + sum (held ++ [came]).
Proof.
  intros price held last left_ came nonempty kept in_order in_time.
  destruct (deadline_bounds price held nonempty) as [_ most].
  assert (positive : 1 <= length held).
  { destruct held; [contradiction | simpl; lia]. }
  rewrite sum_app, app_length. cbn [sum length].
  set (n := length held) in *.
  set (t := deadline price held) in *.
  assert (n * (came + 1) <= n * t) by (apply Nat.mul_le_mono_l; lia).
  assert (passed : n * came = n * last + n * (came - last)).
  { rewrite <- Nat.mul_add_distr_l. f_equal. lia. }
  set (since := came - last) in *.
  lia.
Qed.

(** * That this is about something *)

(** The rule as a program: it takes each message with those that are held if it comes in time. *)
Fixpoint run (price : nat) (held later : list nat) : list batch :=
  match later with
  | [] => [batch_of price held]
  | came :: later' =>
      if came <=? deadline price held
      then run price (held ++ [came]) later'
      else batch_of price held :: run price [came] later'
  end.

Definition competitive (price : nat) (arrivals : list nat) : list batch :=
  match arrivals with
  | [] => []
  | first :: later => run price [first] later
  end.

Theorem the_program_obeys : forall price arrivals, obeys price arrivals (competitive price arrivals).
Proof.
  assert (step : forall price later held, follows price held later (run price held later)).
  { intros price later. induction later as [| came later IH]; intro held; simpl.
    - constructor.
    - destruct (Nat.leb_spec came (deadline price held)).
      + apply joins; [assumption | apply IH].
      + apply begins; [lia | apply IH]. }
  intros price arrivals. destruct arrivals as [| first later]; simpl; [reflexivity | apply step].
Qed.

(** No smaller factor holds: one message alone costs twice what it need. *)
Theorem twice_is_reached : forall price,
  cost_of price [0] (competitive price [0]) = 2 * cost price [0] [0] [0] /\
  is_schedule [0] [0] [0].
Proof.
  intro price. split.
  - unfold cost_of, cost, competitive, leaves_of, writes_of.
    cbn [run batch_of flat_map map messages written_at length repeat app delays].
    rewrite deadline_of_one. lia.
  - split.
    + constructor; [apply le_n | constructor].
    + constructor; [left; reflexivity | constructor].
Qed.

(** Two streams that were computed: 5 units of time a write. *)
Example a_burst_shares_the_price :
  map written_at (competitive 5 [100; 100; 100; 100; 100]) = [101].
Proof. reflexivity. Qed.

Example what_comes_later_begins_the_next_batch :
  map messages (competitive 6 [10; 12; 14; 15]) = [[10; 12; 14]; [15]].
Proof. reflexivity. Qed.

Print Assumptions deadline_only_moves_earlier.
Print Assumptions the_rule_makes_a_schedule.
Print Assumptions never_worse_than_twice.
Print Assumptions never_worse_than_twice_in_whole_times.
Print Assumptions what_is_left_says_the_same.
Print Assumptions what_is_left_is_kept.
Print Assumptions the_program_obeys.
Print Assumptions twice_is_reached.
