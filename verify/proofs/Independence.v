(* Independence of a list of variables, as far as means of polynomials need it. *)
From Coq Require Import Reals Lra Lia List Permutation.
From SDPA Require Import Sums Expectation.
Import ListNotations.
Local Open Scope R_scope.

Section Independence.
Context {P : space}.
Implicit Types (L : list (P -> R)) (e : list nat) (X Y Z : P -> R).

(* X_1^e_1 X_2^e_2 ..., and the product of the means of these powers *)
Fixpoint monomial L e (w : P) : R :=
  match L, e with X :: L, n :: e => X w ^ n * monomial L e w | _, _ => 1 end.
Fixpoint moments L e : R :=
  match L, e with X :: L, n :: e => E (fun w => X w ^ n) * moments L e | _, _ => 1 end.
Definition at_most D e := Forall (fun n => (n <= D)%nat) e.

(* Mixed moments of degree at most D in each variable exist, and are products of moments. Independent
   variables whose moments of order D exist do this, in every measure space: it is all that is used. *)
Definition independent D L : Prop := forall e, length e = length L -> at_most D e ->
  integrable (monomial L e) /\ E (monomial L e) = moments L e.

(* all variables of an array *)
Definition all1 n (x : nat -> P -> R) := map x (seq 0 n).
Definition all2 m n (x : nat -> nat -> P -> R) := flat_map (fun a => all1 n (x a)) (seq 0 m).
Definition all3 l m n (x : nat -> nat -> nat -> P -> R) := flat_map (fun a => all2 m n (x a)) (seq 0 l).

(* ---- in any order, and for any part of the variables ---- *)
Lemma reordered D L M : Permutation L M -> forall e, length e = length M -> at_most D e ->
  exists f, length f = length L /\ at_most D f /\
    (forall w, monomial L f w = monomial M e w) /\ moments L f = moments M e.
Proof.
  induction 1 as [|X L M _ IH|X Y L|L M N _ IH1 _ IH2]; intros e He De.
  - exists e. auto.
  - destruct e as [|n e]; [discriminate|]. inversion De as [|? ? Dn De']; subst.
    destruct (IH e) as (f & h1 & h2 & h3 & h4); auto. exists (n :: f). simpl.
    repeat split; auto; [now constructor|intro w; now rewrite h3|now rewrite h4].
  - destruct e as [|n [|k e]]; try discriminate. inversion De as [|? ? Dn De']; subst.
    inversion De' as [|? ? Dk De'']; subst. exists (k :: n :: e). simpl.
    repeat split; auto; [repeat constructor; auto|intro w; ring|ring].
  - destruct (IH2 e He De) as (f & h1 & h2 & h3 & h4). destruct (IH1 f h1 h2) as (g & g1 & g2 & g3 & g4).
    exists g. repeat split; auto; [intro w; now rewrite g3|now rewrite g4].
Qed.
Lemma independent_permuted D L M : Permutation L M -> independent D L -> independent D M.
Proof.
  intros p H e He De. destruct (reordered D L M p e He De) as (f & h1 & h2 & h3 & h4).
  destruct (H f h1 h2) as [i m]. split; [now apply (integrable_ext _ _ h3)|].
  now rewrite <- (E_ext _ _ h3), m.
Qed.
Lemma independent_part D L M : independent D (L ++ M) -> independent D L.
Proof.
  intros H e He De.
  assert (Z : forall N, exists f, length f = length N /\ at_most D f /\
    (forall w, monomial N f w = 1) /\ moments N f = 1).
  { induction N as [|X N (f & h1 & h2 & h3 & h4)]; [exists []; repeat split; auto; constructor|].
    exists (0%nat :: f). simpl. repeat split; auto; [constructor; auto; lia| |].
    - intro w; rewrite h3; ring.
    - rewrite h4, E_one; ring. }
  destruct (Z M) as (f & f1 & f2 & f3 & f4).
  assert (A : forall N g, length g = length N ->
    (forall w, monomial (N ++ M) (g ++ f) w = monomial N g w) /\ moments (N ++ M) (g ++ f) = moments N g).
  { induction N as [|X N IH]; intros [|n g]; try discriminate; simpl; auto.
    intro h. injection h as h. destruct (IH g h) as [i1 i2].
    split; [intro w; now rewrite i1|now rewrite i2]. }
  destruct (A L e He) as [a1 a2].
  destruct (H (e ++ f)) as [i m]; [rewrite !app_length; lia|now apply Forall_app|].
  split; [now apply (integrable_ext _ _ a1)|]. now rewrite <- (E_ext _ _ a1), m.
Qed.
Lemma independent_rest D L M : independent D (L ++ M) -> independent D M.
Proof. intro H. apply (independent_part D M L), (independent_permuted D (L ++ M));
  [apply Permutation_app_comm|easy]. Qed.
Definition contains L M := exists N, Permutation L (M ++ N).
Lemma independent_contained D L M : contains L M -> independent D L -> independent D M.
Proof. intros [N p] H. apply (independent_part D M N). now apply (independent_permuted D L). Qed.
Lemma contains_refl L : contains L L.
Proof. exists []. now rewrite app_nil_r. Qed.
Lemma contains_trans L M N : contains L M -> contains M N -> contains L N.
Proof.
  intros [A p] [B r]. exists (B ++ A). rewrite app_assoc. rewrite p. now apply Permutation_app_tail.
Qed.
Lemma contains_app L M L' M' : contains L L' -> contains M M' -> contains (L ++ M) (L' ++ M').
Proof.
  intros [A p] [B r]. exists (A ++ B). rewrite p, r, <- !app_assoc. apply Permutation_app_head.
  rewrite !app_assoc. apply Permutation_app_tail, Permutation_app_comm.
Qed.
Lemma contains_permuted L M : Permutation L M -> contains L M.
Proof. intro p. exists []. now rewrite app_nil_r. Qed.
Lemma contains_each T (f : T -> list (P -> R)) l t : In t l -> contains (flat_map f l) (f t).
Proof.
  intro H. apply in_split in H as (l1 & l2 & ->). exists (flat_map f l1 ++ flat_map f l2).
  rewrite flat_map_app. simpl. rewrite !app_assoc. apply Permutation_app_tail, Permutation_app_comm.
Qed.
Lemma contains_two T (f : T -> list (P -> R)) l t u : t <> u -> In t l -> In u l ->
  contains (flat_map f l) (f t ++ f u).
Proof.
  intros tu Ht Hu. apply in_split in Ht as (l1 & l2 & ->).
  apply (contains_trans _ (f t ++ flat_map f (l1 ++ l2))).
  - apply contains_permuted. rewrite !flat_map_app. simpl. rewrite !app_assoc.
    apply Permutation_app_tail, Permutation_app_comm.
  - apply contains_app; [apply contains_refl|]. apply contains_each.
    apply in_app_iff in Hu as [h|[->|h]]; [|easy|]; apply in_or_app; auto.
Qed.
Lemma contains_var n (x : nat -> P -> R) i : (i < n)%nat -> contains (all1 n x) [x i].
Proof.
  intro H. unfold all1.
  assert (F : forall l, map x l = flat_map (fun i => [x i]) l) by (induction l; simpl; congruence).
  rewrite F. apply (contains_each nat (fun i => [x i])), in_seq. lia.
Qed.
Lemma contains_row m n x a : (a < m)%nat -> contains (all2 m n x) (all1 n (x a)).
Proof. intro H. apply (contains_each nat (fun a => all1 n (x a))), in_seq. lia. Qed.
Lemma contains_rows m n x a b : (a < m)%nat -> (b < m)%nat -> a <> b ->
  contains (all2 m n x) (all1 n (x a) ++ all1 n (x b)).
Proof. intros. apply (contains_two nat (fun a => all1 n (x a))); auto; apply in_seq; lia. Qed.

(* ---- polynomials in the variables of a list, of degree at most D in each ---- *)
Inductive polynomial D L : (P -> R) -> Prop :=
  | of_monomial c e : length e = length L -> at_most D e -> polynomial D L (fun w => c * monomial L e w)
  | of_sum X Y : polynomial D L X -> polynomial D L Y -> polynomial D L (fun w => X w + Y w)
  | of_equal X Y : (forall w, X w = Y w) -> polynomial D L X -> polynomial D L Y.

Lemma polynomial_integrable D L X : independent D L -> polynomial D L X -> integrable X.
Proof.
  intro H. induction 1; [|now apply integrable_plus|now apply (integrable_ext X)].
  apply integrable_scal. now apply H.
Qed.
Lemma polynomial_scal D L c X : polynomial D L X -> polynomial D L (fun w => c * X w).
Proof.
  induction 1 as [b e|X Y _ IH1 _ IH2|X Y h _ IH].
  - apply (of_equal _ _ (fun w => (c * b) * monomial L e w)); [intro; ring|now constructor].
  - apply (of_equal _ _ (fun w => c * X w + c * Y w)); [intro; ring|now constructor].
  - apply (of_equal _ _ (fun w => c * X w)); [intro; now rewrite h|easy].
Qed.
Lemma polynomial_const D L c : polynomial D L (fun _ => c).
Proof.
  apply (of_equal _ _ (fun w => c * monomial L (repeat 0%nat (length L)) w)).
  - intro w. induction L; simpl; [ring|]. rewrite Rmult_1_l. exact IHL.
  - constructor; [apply repeat_length|]. apply Forall_forall. intros n h. apply repeat_spec in h. lia.
Qed.
Lemma polynomial_sum D L n (X : nat -> P -> R) : (forall i, (i < n)%nat -> polynomial D L (X i)) ->
  polynomial D L (fun w => sum n (fun i => X i w)).
Proof. induction n; intro H; simpl; [apply polynomial_const|]. apply of_sum; auto. Qed.

Lemma monomial_app L M e f w : length e = length L ->
  monomial (L ++ M) (e ++ f) w = monomial L e w * monomial M f w.
Proof.
  revert e. induction L as [|X L IH]; intros [|n e] h; try discriminate; simpl; [ring|].
  injection h as h. rewrite IH by easy. ring.
Qed.
Lemma moments_app L M e f : length e = length L -> moments (L ++ M) (e ++ f) = moments L e * moments M f.
Proof.
  revert e. induction L as [|X L IH]; intros [|n e] h; try discriminate; simpl; [ring|].
  injection h as h. rewrite IH by easy. ring.
Qed.
(* what is a polynomial in some of the variables, and products of polynomials in different ones *)
Lemma polynomial_part D L M X : polynomial D L X -> polynomial D (L ++ M) X.
Proof.
  induction 1 as [c e le De|X Y _ IH1 _ IH2|X Y h _ IH]; [|now apply of_sum|now apply (of_equal _ _ X)].
  apply (of_equal _ _ (fun w => c * monomial (L ++ M) (e ++ repeat 0%nat (length M)) w)).
  - intro w. rewrite monomial_app by easy. f_equal. rewrite <- Rmult_1_r. f_equal.
    induction M; simpl; [easy|]. rewrite IHM. ring.
  - constructor; [rewrite !app_length, repeat_length; lia|]. apply Forall_app. split; [easy|].
    apply Forall_forall. intros n h. apply repeat_spec in h. lia.
Qed.
Lemma polynomial_product D L M X Y : polynomial D L X -> polynomial D M Y ->
  polynomial D (L ++ M) (fun w => X w * Y w).
Proof.
  intros HX HY. induction HX as [c e le De|X1 X2 _ IH1 _ IH2|X1 X2 h _ IH].
  - induction HY as [b f lf Df|Y1 Y2 _ IH1 _ IH2|Y1 Y2 h _ IH].
    + apply (of_equal _ _ (fun w => c * b * monomial (L ++ M) (e ++ f) w)).
      * intro w. rewrite monomial_app by easy. ring.
      * constructor; [rewrite !app_length; lia|now apply Forall_app].
    + apply (of_equal _ _ _ _ (fun w => eq_sym (Rmult_plus_distr_l _ (Y1 w) (Y2 w)))). now apply of_sum.
    + apply (of_equal _ _ (fun w => c * monomial L e w * Y1 w)); [intro; now rewrite h|easy].
  - apply (of_equal _ _ _ _ (fun w => eq_sym (Rmult_plus_distr_r (X1 w) (X2 w) (Y w)))). now apply of_sum.
  - apply (of_equal _ _ (fun w => X1 w * Y w)); [intro; now rewrite h|easy].
Qed.
(* Of two parts of independent variables, polynomials have the product of their means. *)
Theorem product_of_parts D L M X Y : independent D (L ++ M) -> polynomial D L X -> polynomial D M Y ->
  integrable (fun w => X w * Y w) /\ E (fun w => X w * Y w) = E X * E Y.
Proof.
  intros H HX HY.
  assert (HL : independent D L) by now apply independent_part in H.
  assert (HM : independent D M) by now apply independent_rest in H.
  revert Y HY. induction HX as [c e le De|X1 X2 h1 IH1 h2 IH2|X1 X2 h hX IH]; intros Y HY.
  - assert (B : forall Y, polynomial D M Y -> integrable (fun w => monomial L e w * Y w) /\
      E (fun w => monomial L e w * Y w) = E (monomial L e) * E Y).
    { clear Y HY. induction 1 as [b f lf Df|Y1 Y2 g1 IH1 g2 IH2|Y1 Y2 g gY IH].
      - assert (A : forall w, b * monomial (L ++ M) (e ++ f) w = monomial L e w * (b * monomial M f w)).
        { intro w. rewrite monomial_app by easy. ring. }
        destruct (H (e ++ f)) as [i m]; [rewrite !app_length; lia|now apply Forall_app|].
        split; [apply (integrable_ext _ _ A); now apply integrable_scal|].
        rewrite <- (E_ext _ _ A), !E_scal, m, moments_app by (assumption || now apply HM).
        rewrite (proj2 (HL e le De)), (proj2 (HM f lf Df)). ring.
      - destruct IH1 as [i1 m1], IH2 as [i2 m2].
        assert (A : forall w, monomial L e w * Y1 w + monomial L e w * Y2 w = monomial L e w * (Y1 w + Y2 w))
          by (intro; ring).
        split; [apply (integrable_ext _ _ A); now apply integrable_plus|].
        rewrite <- (E_ext _ _ A), !E_plus, m1, m2; auto; try now apply (polynomial_integrable D M). ring.
      - destruct IH as [i m].
        assert (A : forall w, monomial L e w * Y1 w = monomial L e w * Y2 w) by (intro; now rewrite g).
        split; [now apply (integrable_ext _ _ A)|]. now rewrite <- (E_ext _ _ A), m, (E_ext _ _ g). }
    destruct (B Y HY) as [i m].
    assert (A : forall w, c * (monomial L e w * Y w) = c * monomial L e w * Y w) by (intro; ring).
    split; [apply (integrable_ext _ _ A); now apply integrable_scal|].
    rewrite <- (E_ext _ _ A), !E_scal, m; auto; [ring|now apply HL].
  - destruct (IH1 Y HY) as [i1 m1], (IH2 Y HY) as [i2 m2].
    assert (A : forall w, X1 w * Y w + X2 w * Y w = (X1 w + X2 w) * Y w) by (intro; ring).
    split; [apply (integrable_ext _ _ A); now apply integrable_plus|].
    rewrite <- (E_ext _ _ A), !E_plus, m1, m2; auto; try now apply (polynomial_integrable D L). ring.
  - destruct (IH Y HY) as [i m].
    assert (A : forall w, X1 w * Y w = X2 w * Y w) by (intro; now rewrite h).
    split; [now apply (integrable_ext _ _ A)|]. now rewrite <- (E_ext _ _ A), m, (E_ext _ _ h).
Qed.

(* ---- powers of one variable, and of two different ones ---- *)
Lemma monomial_all n (x : nat -> P -> R) f w :
  monomial (all1 n x) (map f (seq 0 n)) w = prod n (fun i => x i w ^ f i).
Proof.
  unfold all1. induction n; [easy|]. rewrite seq_S, !map_app, monomial_app by now rewrite !map_length.
  rewrite IHn. simpl. ring.
Qed.
Lemma moments_all n (x : nat -> P -> R) f :
  moments (all1 n x) (map f (seq 0 n)) = prod n (fun i => E (fun w => x i w ^ f i)).
Proof.
  unfold all1. induction n; [easy|]. rewrite seq_S, !map_app, moments_app by now rewrite !map_length.
  rewrite IHn. simpl. ring.
Qed.
Lemma exponents D n f : (forall i, (f i <= D)%nat) ->
  length (map f (seq 0 n)) = n /\ at_most D (map f (seq 0 n)).
Proof.
  intro H. split; [now rewrite map_length, seq_length|]. apply Forall_forall. intros e h.
  apply in_map_iff in h as (i & <- & _). auto.
Qed.
Section Row.
Variables (D n : nat) (x : nat -> P -> R).
Let length_all : length (all1 n x) = n. Proof. unfold all1. now rewrite map_length, seq_length. Qed.

Lemma power_polynomial i a : (i < n)%nat -> (a <= D)%nat -> polynomial D (all1 n x) (fun w => x i w ^ a).
Proof.
  intros Hi Ha. pose (f j := if Nat.eqb j i then a else 0%nat).
  destruct (exponents D n f) as [l m]; [intro j; unfold f; destruct (Nat.eqb j i); lia|].
  apply (of_equal _ _ (fun w => 1 * monomial (all1 n x) (map f (seq 0 n)) w));
    [|constructor; [congruence|easy]].
  intro w. rewrite monomial_all, Rmult_1_l, <- (prod_single n i (x i w ^ a)) by easy.
  apply prod_ext; intros j _. unfold f. destruct (Nat.eqb_spec j i); subst; simpl; ring.
Qed.
Lemma powers i j a b : (i < n)%nat -> (j < n)%nat -> i <> j -> (a <= D)%nat -> (b <= D)%nat ->
  polynomial D (all1 n x) (fun w => x i w ^ a * x j w ^ b) /\ (independent D (all1 n x) ->
  E (fun w => x i w ^ a * x j w ^ b) = E (fun w => x i w ^ a) * E (fun w => x j w ^ b)).
Proof.
  intros Hi Hj Hij Ha Hb.
  pose (f t := if Nat.eqb t i then a else if Nat.eqb t j then b else 0%nat).
  destruct (exponents D n f) as [l m].
  { intro t; unfold f; destruct (Nat.eqb t i), (Nat.eqb t j); lia. }
  assert (A : forall w, monomial (all1 n x) (map f (seq 0 n)) w = x i w ^ a * x j w ^ b).
  { intro w. rewrite monomial_all, <- (prod_single n i (x i w ^ a)), <- (prod_single n j (x j w ^ b)) by easy.
    rewrite <- prod_mult. apply prod_ext; intros t _. unfold f.
    destruct (Nat.eqb_spec t i), (Nat.eqb_spec t j); subst; try easy; simpl; ring. }
  split.
  - apply (of_equal _ _ (fun w => 1 * monomial (all1 n x) (map f (seq 0 n)) w)).
    + intro w. now rewrite A, Rmult_1_l.
    + constructor; [congruence|easy].
  - intro H. destruct (H (map f (seq 0 n))) as [_ h]; [congruence|easy|].
    rewrite <- (E_ext _ _ A), h, moments_all.
    rewrite <- (prod_single n i (E (fun w => x i w ^ a))), <- (prod_single n j (E (fun w => x j w ^ b)))
      by easy.
    rewrite <- prod_mult. apply prod_ext; intros t _. unfold f.
    destruct (Nat.eqb_spec t i), (Nat.eqb_spec t j); subst; try easy; simpl; rewrite ?E_one; ring.
Qed.
End Row.
End Independence.
